//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
public import Synchronization

/// A lock of four bytes in raw memory: a futex word that is 0 when free, 1 when held, 2 when held and waited for.
///
/// Free to take and to release it costs one atomic exchange each and no call, which is what a cache hit pays; where
/// it is contended it spins shortly and then sleeps, so that a preempted holder is not spun against.
///
/// - SeeAlso: Ulrich Drepper, "Futexes Are Tricky" (2011), mutex 2.
@usableFromInline
package struct ShardLock {
    @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt32>>

    /// Bytes before what it guards where the word lies: in the same cache line, but no part of the structure, which is
    /// modified as a whole while others try the lock. As many as the strictest alignment of what is guarded: the
    /// ledger's vectors of four doubles.
    @inlinable
    @inline(__always)
    static var distance: Int { 32 }

    /// The lock of the structure at `address`.
    @inlinable
    @inline(__always)
    package init(guarding address: UnsafeMutableRawPointer) {
        word = (address - Self.distance).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// Makes the word of a new lock, free.
    @usableFromInline
    func initialize() { word.initialize(to: Atomic(0)) }

    @inlinable
    @inline(__always)
    package func lock() {
        let (taken, _) = word.pointee.compareExchange(
            expected: 0,
            desired: 1,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        )
        if !taken { lockContended() }
    }

    /// Takes the lock if it is free. For taking a second shard's lock while one is held: never waiting, it cannot
    /// deadlock.
    @inlinable
    @inline(__always)
    package func tryLock() -> Bool {
        word.pointee.compareExchange(
            expected: 0,
            desired: 1,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    @inlinable
    @inline(__always)
    package func unlock() {
        if word.pointee.exchange(0, ordering: .releasing) == 2 { wakeOne() }
    }

    /// Spins some hundred cycles, about as long as another hit holds the lock, and then sleeps.
    @usableFromInline
    @inline(never)
    func lockContended() {
        for _ in 0..<32 {
            if word.pointee.load(ordering: .relaxed) == 0,
                word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
            {
                return
            }
            cms_spin_hint()
        }
        while word.pointee.exchange(2, ordering: .acquiring) != 0 { cms_futex_wait(word, 2) }
    }

    @usableFromInline
    @inline(never)
    func wakeOne() { cms_futex_wake_one(word) }
}
