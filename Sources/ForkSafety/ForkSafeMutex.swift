//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import Synchronization

/// A mutex that the child of a fork can use.
///
/// `Synchronization.Mutex` keeps the thread's identity in thread-local storage, which in the child is that of the
/// parent's thread: the first contention stops the process. A lock that another thread held at the fork is held in the
/// child for ever. This one knows no threads, but forks: its word says in which process it was taken, and who waits for
/// one that was taken in another process stops with a message instead of waiting for ever.
///
/// The value lies in a `Mutex` that is never contended, which needs no unsafe storage and costs some nanoseconds.
///
/// - SeeAlso: Ulrich Drepper, "Futexes Are Tricky" (2011), mutex 2.
package struct ForkSafeMutex<Value: ~Copyable>: ~Copyable, Sendable {
    /// 0 when free; else the generation that holds it, above a bit that says so, and one that says that some thread may
    /// sleep.
    private let word = Atomic<UInt32>(0)
    private let guarded: Mutex<Value>

    private static var isHeld: UInt32 { 1 }
    private static var hasSleepers: UInt32 { 2 }
    private static var generationShift: UInt32 { 2 }

    /// A mutex around `value`, free.
    package init(_ value: consuming sending Value) { guarded = Mutex(value) }

    /// Runs `body` while no other thread does.
    package borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        lock()
        defer { unlock() }
        return try guarded.withLock(body)
    }

    private borrowing func lock() {
        let held = cms_fork_generation() << Self.generationShift | Self.isHeld
        if word.compareExchange(expected: 0, desired: held, ordering: .acquiring).exchanged { return }
        lockContended(held)
    }

    /// Spins about as long as a short critical section takes, and then sleeps.
    @inline(never)
    private borrowing func lockContended(_ held: UInt32) {
        for _ in 0..<64 {
            if word.load(ordering: .relaxed) == 0,
                word.compareExchange(expected: 0, desired: held, ordering: .acquiring).exchanged
            {
                return
            }
            cms_spin_hint()
        }
        while true {
            let seen = word.load(ordering: .relaxed)
            if seen == 0 {
                // Others may sleep, too.
                let taken = held | Self.hasSleepers
                if word.compareExchange(expected: 0, desired: taken, ordering: .acquiring).exchanged { return }
            } else if seen >> Self.generationShift != held >> Self.generationShift {
                ForkGeneration.stopForAbandonedLock()
            } else {
                let slept = seen | Self.hasSleepers
                if seen != slept, !word.compareExchange(expected: seen, desired: slept, ordering: .relaxed).exchanged {
                    continue
                }
                // A tenth of a second at most, and then another look.
                withUnsafePointer(to: word) { cms_futex_wait($0, slept, 100_000_000) }
            }
        }
    }

    private borrowing func unlock() {
        let before = word.exchange(0, ordering: .releasing)
        if before & Self.hasSleepers != 0 { withUnsafePointer(to: word) { cms_futex_wake_one($0) } }
    }
}
