//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import PurgeableMemory
internal import Synchronization

/// What stands behind a ``PurgeableCache``: an index in ordinary memory over values in volatile pages. The heart.
///
/// Every operation follows one pattern: hash, enter the log's gate, find the entry under its shard's lock, act on the
/// pages after unlocking, leave the gate.
///
/// Invariants:
/// - An entry is published after its bytes are written, and found before they are read; between the two nobody writes
///   them (``SegmentLog``).
/// - `count` and `totalCost` are what has been published and neither removed nor accounted for by the emptying of its
///   segment: ``SegmentLog/release(_:)`` decides which of the two comes first, once for every item.
/// - Room is drawn before a value is published, and given back after it has left the index, under the shard's lock:
///   limits hold at every moment, and nobody waits with room in hand (``PurgeableRoom``).
/// - Under a shard's lock there are no system calls, no user code, no other shard's lock but during the one split.
/// - Locations are found and released inside the log's gate.
/// - A cache begins as one shard, so that small caches stay small and evict in one order, and splits once.
///
/// Whose turn it is to go is decided by three: the kernel, for volatile pages, oldest first but sparing what was read;
/// the limits, by a CLOCK over the entries of all shards; and whoever asks for memory, oldest segments first.
@usableFromInline
final class PurgeableStore: @unchecked Sendable {
    // Sendable: shards are guarded by their locks, `keys` by the same, everything else is atomic or constant.

    /// 32 shards: with more than four a core, two threads rarely meet; the figures in the hot-path measurements differ
    /// by 10 % between 16 and 64.
    static let shardCount = 32
    /// Below this one shard is as good: its index fits the second-level cache.
    static let splitCount = 4096
    /// What values that the kernel cannot take may hold in any case: four segments, of which two may be active.
    static let leastOrdinaryLimit = 4 << 20
    /// Where no limit can be found out.
    static let assumedLimit = 512 << 20

    let log: SegmentLog
    /// Nil where the cache takes no part when memory is short.
    let pressure: PressureMembership?
    let lifetimes: EntryLifetimes
    /// Told of what leaves, by ``tellRemovals()``.
    let observer: Observer?
    @usableFromInline let hasObserver: Bool
    /// Tests give a limit for what the kernel cannot take.
    let givenOrdinaryLimit: Int?
    /// Where large values get their pages.
    let pool: PurgeablePool
    let keys: KeyStorage?
    let shards: UnsafeMutablePointer<PurgeableShard>
    private let places: UnsafeMutablePointer<Atomic<UInt64>>
    let shardMask = Atomic<Int>(0)
    let seed = HashSeed.random()

    let room: PurgeableRoom
    /// Entries in the index whose segment has been emptied.
    let staleCount = Atomic<Int>(0)
    /// Bytes in volatile pages of the log, at the last census.
    let residentBytes = Atomic<Int>(0)
    let largeBytes = Atomic<Int>(0)
    let largeInserted = Atomic<Int>(0)
    /// Bytes of large values that only eviction frees, at the last census.
    let largeOrdinary = Atomic<Int>(0)
    let largeSerial = Atomic<UInt64>(0)

    let nameValue: ForkSafeMutex<String>
    let counters = PurgeableCounters()
    let remembersGhosts = Atomic<Bool>(false)
    let evictionShard = Atomic<Int>(0)
    let maintenance = PurgeableMaintenance()
    /// What goes on bit by bit; guarded by ``PurgeableMaintenance/isRunning``.
    var chores = PurgeableChores()

    init(
        name: String,
        countLimit: Int,
        totalCostLimit: Int,
        keys: KeyStorage?,
        log: SegmentLog = SegmentLog(usage: PurgeablePool.shared.usage),
        pool: PurgeablePool = .shared,
        governor: MemoryGovernor? = .shared,
        ordinaryLimit: Int? = nil,
        lifetimes: consuming EntryLifetimes = EntryLifetimes(),
        observer: Observer? = nil
    ) {
        self.lifetimes = lifetimes
        self.observer = observer
        hasObserver = observer != nil
        givenOrdinaryLimit = ordinaryLimit
        self.log = log
        pressure = governor.map(PressureMembership.init(governor:))
        self.pool = pool
        self.keys = keys
        shards = .allocate(capacity: Self.shardCount)
        places = AlignedMemory.allocate(TablePlace.size(count: Self.shardCount)).assumingMemoryBound(to: Atomic.self)
        for i in 0..<Self.shardCount {
            TablePlace(places + i).initialize()
            (shards + i).initialize(to: PurgeableShard())
            PurgeableShard.lock(shards + i).initialize()
        }
        room = PurgeableRoom(countLimit: countLimit, totalCostLimit: totalCostLimit)
        nameValue = ForkSafeMutex(name)
    }

    deinit {
        if let keys {
            for shard in 0..<Self.shardCount {
                for slot in 0..<shards[shard].state.index.slotCount
                where shards[shard].state.index[slot].pointee.location != 0 {
                    var bag: [Any] = []
                    keys.moveOut(shard: shard, slot: slot, into: &bag)
                }
            }
        }
        shards.deinitialize(count: Self.shardCount)
        shards.deallocate()
        AlignedMemory.deallocate(places, TablePlace.size(count: Self.shardCount))
    }

    // MARK: Finding

    func hash(_ word: UInt64) -> IndexHash { IndexHash(word, seed: seed) }

    func hash(_ matching: KeyMatching) -> IndexHash { hash(matching.word) }

    func tablePlace(_ shard: Int) -> TablePlace { TablePlace(places + shard) }

    /// Tells those on their way to the shard's lock where its table lies. Under the lock.
    func publishTable(of state: borrowing PurgeableShard.State, _ shard: Int) {
        tablePlace(shard).publish(state.index.table, capacity: state.index.capacity)
    }

    /// Runs `body` under the shard's lock.
    @inline(__always)
    func locked<R>(shard: Int, _ body: (inout PurgeableShard.State) -> R) -> R {
        let lock = PurgeableShard.lock(shards + shard)
        lock.lock()
        defer { lock.unlock() }
        return body(&shards[shard].state)
    }

    /// Runs `body` under the lock of the hash's shard.
    @inline(__always)
    func locked<R: Sendable>(
        _ hash: IndexHash,
        _ body: (inout PurgeableShard.State, _ shard: Int) -> R
    ) -> R {
        while true {
            let mask = shardMask.load(ordering: .acquiring)
            let shard = hash.shard(mask: mask)
            let result: R? = locked(shard: shard) { state in
                // The one split happens under the lock of shard 0.
                guard mask != 0 || shardMask.load(ordering: .relaxed) == 0 else { return nil }
                return body(&state, shard)
            }
            if let result { return result }
        }
    }

    /// Compares the key with those of its hash, outside the gate.
    func compareBefore(_ matching: KeyMatching) {
        // The gate stops the child of a fork, with a message; a lock could be one that nobody gives back.
        if log.gate.isInherited { return }
        let hash = hash(matching)
        matching.beginRound()
        let isDecided: Bool = locked(hash) { state, shard in locate(hash, matching, in: &state, shard).isDecided }
        if !isDecided { matching.decide() }
    }

    /// The slot of the key's entry, and whether all is known of the entries that could be it. Under the shard's lock.
    @inline(__always)
    private func locate(
        _ hash: IndexHash,
        _ matching: KeyMatching,
        in state: inout PurgeableShard.State,
        _ shard: Int
    ) -> (slot: Int?, isDecided: Bool) {
        var found: Int?
        var undecided = false
        state.index.forEachCandidate(hash, word: matching.word) { slot in
            switch matching.verdict(shard: shard, slot: slot) {
            case .equal: found = slot
            case .different: return true
            case .unknown: undecided = true
            }
            return found == nil
        }
        return (found, found != nil || !undecided)
    }

    /// Runs `body` under the lock of the hash's shard, with the slot of the key's entry.
    @inline(__always)
    func withEntry<R: Sendable>(
        _ hash: IndexHash,
        _ matching: KeyMatching,
        _ body: (inout PurgeableShard.State, _ shard: Int, _ slot: Int?) -> R
    ) -> R {
        while true {
            matching.beginRound()
            let result: R? = locked(hash) { state, shard in
                let found = locate(hash, matching, in: &state, shard)
                return found.isDecided ? body(&state, shard, found.slot) : nil
            }
            if let result { return result }
            matching.decide()
        }
    }
}
