//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims
internal import ForkSafety
public import Synchronization

/// A lock of two words in raw memory: one says whether it is held, the other whether somebody sleeps.
///
/// Free to take it costs one atomic exchange, and to release it a plain store, which is what a cache hit pays. A second
/// exchange would cost as much again as the rest of the hit, because the processor lets no later load pass it. Where
/// the lock is contended it spins shortly and then sleeps, so that a preempted holder is not spun against.
///
/// Without a fence between the two words, who releases may miss a sleeper who is just lying down: its store is still on
/// its way when the sleeper looks, and it looks for sleepers before the sleeper's store arrives. That takes a store
/// that is under way for as long as a system call takes; and therefore nobody sleeps for longer than ``longestSleep``
/// at a time.
///
/// - SeeAlso: Ulrich Drepper, "Futexes Are Tricky" (2011), mutex 2, whose third state is the second word here.
@usableFromInline
package struct ShardLock {
    /// 1 when held, 2 by somebody who had to wait for it.
    @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt32>>

    /// 1 when somebody may sleep.
    @inlinable
    @inline(always)
    var sleepers: UnsafeMutablePointer<Atomic<UInt32>> { word + 1 }

    /// In which process the lock was made; see `ForkGeneration`.
    private var generation: UnsafeMutablePointer<UInt32> {
        UnsafeMutableRawPointer(word + 2).assumingMemoryBound(to: UInt32.self)
    }

    /// Counts the sections in which somebody wrote what is read without the lock, by four, and says by ``writes`` and
    /// ``inserts`` that one is under way; see `OptimisticReading`. Of no use to the lock itself, but here is room for it,
    /// in the line that whoever takes the lock writes anyway.
    @inlinable
    @inline(always)
    var sequence: UnsafeMutablePointer<Atomic<UInt32>> { word + 3 }

    /// The bit of a section that no lookup believes anything of.
    @inlinable
    @inline(always)
    static var writes: UInt32 { 1 }

    /// The bit of a section that leaves hits to lookups, unless the other one is set too.
    @inlinable
    @inline(always)
    static var inserts: UInt32 { 2 }

    /// Bytes before what it guards where the words lie: in the same cache line, but no part of the structure, which is
    /// modified as a whole while others try the lock. A shard's alignment, so that the shard begins right behind them.
    @inlinable
    @inline(always)
    static var distance: Int { 16 }

    /// How long a sleeper trusts to be woken: a millisecond, in nanoseconds. Long beside a wake-up, short beside what a
    /// person notices.
    static var longestSleep: Int { 1_000_000 }

    /// How often a sleeper looks again in the child of a fork before it takes the holder for a thread that is not
    /// there: some seconds, in which a critical section of microseconds ends also on a machine that has no time.
    private static var mostNaps: Int { 2000 }

    /// The lock of the structure at `address`.
    @inlinable
    @inline(always)
    package init(guarding address: UnsafeMutableRawPointer) {
        word = (address - Self.distance).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// Makes the words of a new lock, free.
    @usableFromInline
    func initialize() {
        word.initialize(to: Atomic(0))
        sleepers.initialize(to: Atomic(0))
        generation.initialize(to: cms_fork_generation())
        sequence.initialize(to: Atomic(0))
    }

    @inlinable
    @inline(always)
    package func lock() {
        if !tryLock() { lockContended() }
    }

    /// Takes the lock if it is free. For taking a second shard's lock while one is held: never waiting, it cannot
    /// deadlock.
    @inlinable
    @inline(always)
    package func tryLock() -> Bool {
        word.pointee.compareExchange(
            expected: 0,
            desired: 1,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    @inlinable
    @inline(always)
    package func unlock() {
        // To the optimiser a store releases no object, so it may move the retain of what was read to behind it, when
        // another thread may have let go of the object already. A call that it cannot see through keeps it before.
        cms_compiler_barrier()
        word.pointee.store(0, ordering: .releasing)
        if sleepers.pointee.load(ordering: .relaxed) != 0 { wakeOne() }
    }

    /// How often a thread looks whether the lock is free before it sleeps. On an AMD EPYC in a virtual machine a look
    /// takes 25 to 28 ns, the processor's pause, so all of them take 3 to 4 µs, and sleeping and being woken 24 to
    /// 31 µs: looking costs little beside a sleep that it spares. With 32 looks, two threads that set what they do not
    /// find made some 2 system calls in 1,000 operations, with 128 some .3; together they were 1.42 times as fast as
    /// one, and 1.21 times (medians of six runs).
    ///
    /// - SeeAlso: Karlin, Li, Manasse and Owicki, "Empirical Studies of Competitive Spinning for a Shared-Memory
    ///   Multiprocessor", SOSP 1991.
    static var mostLooks: Int { 128 }

    /// Whether whoever has the lock, who asks, had to wait for it.
    @inlinable
    @inline(always)
    var wasContended: Bool { word.pointee.load(ordering: .relaxed) == 2 }

    /// Says to those who read without the lock that whoever has it writes from here on.
    @inlinable
    @inline(always)
    func beginWriting() {
        sequence.pointee.store(sequence.pointee.load(ordering: .relaxed) | Self.writes, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
    }

    /// Says the same, and that what they find meanwhile they may believe. Who sees this has seen what was written
    /// before.
    @inlinable
    @inline(always)
    func beginInserting() {
        sequence.pointee.store(sequence.pointee.load(ordering: .relaxed) | Self.inserts, ordering: .releasing)
        atomicMemoryFence(ordering: .releasing)
    }

    /// Whether whoever has the lock, who asks, has said that it inserts.
    @inlinable
    @inline(always)
    var isInserting: Bool {
        sequence.pointee.load(ordering: .relaxed) & (Self.writes | Self.inserts) == Self.inserts
    }

    /// Says that it does not any more.
    @inlinable
    @inline(always)
    func endWriting() {
        let all = sequence.pointee.load(ordering: .relaxed) | Self.writes | Self.inserts
        sequence.pointee.store(all &+ 1, ordering: .releasing)
    }

    /// Spins, and then sleeps.
    @usableFromInline
    @inline(never)
    func lockContended() {
        for _ in 0..<Self.mostLooks {
            if word.pointee.load(ordering: .relaxed) == 0, tryLock() { return noteContention() }
            cms_spin_hint()
        }
        var naps = 0
        while true {
            naps += 1
            if naps > Self.mostNaps, generation.pointee != cms_fork_generation() {
                ForkGeneration.stopForAbandonedLock()
            }
            // Said before the lock is looked at, and left said when it is taken: others may sleep too.
            _ = sleepers.pointee.exchange(1, ordering: .sequentiallyConsistent)
            if tryLock() { return noteContention() }
            cms_futex_wait(sleepers, 1, Self.longestSleep)
        }
    }

    private func noteContention() { word.pointee.store(2, ordering: .relaxed) }

    /// Wakes one sleeper, who will say whether there may be more of them.
    @usableFromInline
    @inline(never)
    func wakeOne() {
        sleepers.pointee.store(0, ordering: .relaxed)
        cms_futex_wake_one(sleepers)
    }
}
