//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
public import Synchronization

// The engine of every cache in the package.
//
// # Where things are
//
// A cache is a directory of shards; a shard is a lock, a table, a slab of entries and the policy's order of them
// (`Shard`, `EntryStorage`, `StayQueues`). The hash of a key, made once and before any lock, says which shard, where
// in its table, and by which tag (`KeyHash`). All shards lie in one raw allocation that the engine owns, because a
// class or an array between a call and its entry costs as much as the lookup itself.
//
// A cache begins without any shard, so that an empty one is only this object. The first access makes one shard, in
// which everything is in exact order; beyond 4,096 entries they move to several times as many shards as there are
// processors, and later to 32, 64 or 128 (`CacheEngine+Splitting`). So small caches choose their victims among
// many entries, and large ones keep threads apart. A thread that waits for an old shard's lock meanwhile finds that its
// entries are elsewhere, and asks the directory again.
//
// # What a hit does
//
// Hash, lock, probe, set one bit unless it is set, copy the value, unlock. Where keys are integers, values trivial and
// threads more than one, a hit does without the lock (`OptimisticReading`). Nothing is allocated or moved. Code is
// inlinable down to the atomic instructions, so that it specialises for the client's key and value; without that it
// is three to five times slower.
//
// # Who is worth keeping
//
// LPG-A: lazily promoted greedy-dual queues with learned weights. The worth of an entry is level × recompute cost per
// byte. Entries wait in first-in first-out queues, one for each (logarithmic) worth, each with a height H = L + worth
// fixed when it is enqueued, L being the height of the last victim: so every queue is sorted, and the next victim is
// the least head. An entry that was used in its stay gets another one, at a higher level. Evicted entries leave a
// ghost; from what ghosts would have earned, and what keeping them would have spent, the cache learns how much a stay
// is worth for each class of entry (`PolicyLearner`). It learns faster while LRU would do better, as a sample of the
// keys shows (`RecencyRival`). L, the weights and the room are those of the whole cache; each shard has a copy of L and
// of the weights, and exchanges what it has seen for them now and then.
//
// # Who pays for a newcomer
//
// Room (`Room`) has one owner at a time: nobody, an entry, or the stock of a shard. An insertion pays from the stock of
// its shard, then from what nobody has, then by victims of its own shard, and all of that in one critical section
// (`CacheEngine+Room`). What a shard cannot pay for is stored by a large insertion, one at a time, with room
// collected from all shards (`CacheEngine+Large`). No thread holds room while it waits for anything, so insertions
// always end. Keys are spread evenly, so shards age alike; each sixteenth victim is looked for in sixteen others.
// More are looked for in others where cost is limited and a shard has few entries, and in order of use where the
// victim here would not be among the oldest.
//
// GreedyDual-Size-Frequency: Cherkasova, HP Labs TR 98-69 (1998); GreedyDual: Young, SODA 1991; lazy promotion: Yang
// et al., HotOS 2023; ghosts of a queue: Megiddo and Modha, "ARC", FAST 2003.
//
// # Invariants
//
// 1. The totals in `Room` never exceed the limits: room is drawn before an entry goes in, and where there is none a
//    victim's room is taken over. When no call is under way they equal the entries and the stocks of the shards.
// 2. No code of the user's runs under a lock: not `hash(into:)`, not an `==` that is not known to be harmless, no
//    handler, no clock, no deinitialiser. What leaves is carried out in `EntryDepartures` and let go of after
//    unlocking.
// 3. Keys are never hashed again: what was stored is found by what was stored, whatever became of the key.
// 4. The lock of large insertions comes before any shard's. At most one shard's lock is waited for at a time; a second
//    one is only tried, but for new shards, whose locks nobody keeps before they have entries. The shared policy's
//    lock is a leaf.
// 5. A newcomer is never its own victim, nor is the entry that it replaces; what costs nothing is no victim of a cost
//    limit.

/// A concurrent cache with strict limits, the engine behind `MemoryCache` and `NSCache`. See the essay at the top of
/// this file.
@usableFromInline
package final class CacheEngine<Key: Hashable, Value>: @unchecked Sendable {
    // Sendable: all mutable state is atomic, in `settings` behind its mutex, or in a shard behind the shard's lock.

    @usableFromInline typealias ShardPointer = UnsafeMutablePointer<Shard<Key, Value>>

    /// Address of the first shard's lock, and in its low six bits the logarithm of their number; 0 before the first
    /// access.
    @usableFromInline let directory = Atomic<UInt>(0)
    @usableFromInline let seed = HashSeed.random()
    /// Where threads that read without a lock count; see ``ReaderCounts``.
    @usableFromInline let readers = Atomic<UInt>(0)
    // Small fields follow those that leave room behind them: the object of an empty cache is no larger than need be.
    @usableFromInline let limits: CacheLimits
    @usableFromInline let ordering: CacheOrdering
    @usableFromInline let hasObserver = Atomic<Bool>(false)
    /// The bits of the height that was last asked for when no shard was in use, as a Float.
    @usableFromInline let knownPrice = Atomic<UInt32>(0)
    @usableFromInline let hooks: ContentHooks<Value>?
    @usableFromInline let lifetimes: EntryLifetimes
    /// Whether any value ever had content that can be discarded, and insertions since dead ones were last looked for.
    @usableFromInline let hasDiscardable = Atomic<Bool>(false)
    @usableFromInline let evictsDiscarded = Atomic<Bool>(true)
    /// The process in which a thread is making more shards, as ``CacheEngine/split(_:)`` names it; 0 while none is.
    let splittingProcess = Atomic<UInt8>(0)
    let insertionsSincePruning = Atomic<UInt32>(0)
    /// Who keeps the caches of the process within memory; nil where this one takes no part.
    @usableFromInline let governor: MemoryGovernor?
    /// Where the search for dead ones goes on.
    let pruningPlace = Atomic<UInt64>(0)
    /// From which shard those of equal price are counted. Two threads may count from the same; that does no harm.
    @usableFromInline let evictionStart = Atomic<Int>(0)
    let settings: ForkSafeMutex<Settings>
    /// Performs work as whoever makes the engine has compiled it, for the key and the value that it has. One closure,
    /// because a second one would make each empty cache larger.
    @usableFromInline let specialized: Specialized

    struct Settings {
        var name: String
        // Sendable by the contract of the engine's own type: it is called on whichever thread removes an entry.
        nonisolated(unsafe) var observer: ((Key, Value, RemovalCause) -> Void)?
    }

    /// What is to be compiled for the key and the value though it is asked for by code that is compiled for any: by the
    /// governor, which knows a cache by a protocol, and by what goes over all shards. Without that, evicting and moving
    /// entries take six times as long.
    @usableFromInline
    enum SpecializedWork {
        /// See ``CacheEngine/evictLeast(_:below:)``.
        case evictLeast(bytes: Int, height: Double)
        /// See ``CacheEngine/sweepExpired()``; answers 0.
        case removeExpired
        /// See ``CacheEngine/leastHeight()``; answers the bits of a height.
        case leastHeight
        /// See ``CacheEngine/moveIn(_:)``; answers 0.
        case moveIn(ShardPointer)
    }

    @usableFromInline typealias Specialized = (_ engine: CacheEngine, _ work: SpecializedWork) -> Int

    @inlinable
    func perform(_ work: SpecializedWork) -> Int {
        switch work {
        case .evictLeast(let bytes, let height): return evictLeast(bytes, below: height)
        case .removeExpired:
            sweepExpired()
            return 0
        case .leastHeight: return Int(bitPattern: UInt(leastHeight().bitPattern))
        case .moveIn(let shard):
            moveIn(shard)
            return 0
        }
    }

    /// A cache without entries.
    ///
    /// - Parameters:
    ///   - countLimit: entries at most; 0 or less is no limit.
    ///   - totalCostLimit: sum of costs at most; 0 or less is no limit.
    ///   - hooks: how to treat values with discardable content; nil where there are none.
    ///   - clock: what lifetimes are measured by; nil for the continuous clock.
    ///   - idleLifetime: how long entries live after their last use; nil where use does not count.
    ///   - fallbackLifetime: how long an expired entry is kept as a fallback; nil where none is.
    ///   - governor: who keeps the process's caches within memory; nil where this one is to take no part.
    @inlinable
    package convenience init(
        name: String = "",
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        ordering: CacheOrdering = .worth,
        hooks: ContentHooks<Value>? = nil,
        clock: (any Clock<Duration>)? = nil,
        idleLifetime: Duration? = nil,
        fallbackLifetime: Duration? = nil,
        governor: MemoryGovernor? = nil
    ) {
        self.init(
            name,
            countLimit,
            totalCostLimit,
            ordering,
            hooks,
            clock,
            idleLifetime,
            fallbackLifetime,
            governor,
            specialized: { engine, work in engine.perform(work) }
        )
    }

    @usableFromInline
    init(
        _ name: String,
        _ countLimit: Int,
        _ totalCostLimit: Int,
        _ ordering: CacheOrdering,
        _ hooks: ContentHooks<Value>?,
        _ clock: (any Clock<Duration>)?,
        _ idleLifetime: Duration?,
        _ fallbackLifetime: Duration?,
        _ governor: MemoryGovernor?,
        specialized: @escaping Specialized
    ) {
        limits = CacheLimits(count: countLimit, cost: totalCostLimit)
        self.ordering = ordering
        self.hooks = hooks
        lifetimes = EntryLifetimes(clock: clock, idle: idleLifetime, fallback: fallbackLifetime)
        self.governor = governor
        self.specialized = specialized
        settings = ForkSafeMutex(Settings(name: name))
    }

    deinit { destroyShards() }
}
