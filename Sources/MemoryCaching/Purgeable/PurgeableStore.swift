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
    let pressure: PressureAccount?
    let clock: LifetimeClock
    /// How long an entry lives after its last use, in nanoseconds; the largest where use does not count.
    let idleLifetime: Int64
    /// How long an expired entry is kept as a fallback, in nanoseconds; 0 where none is.
    let fallbackLifetime: Int64
    /// Whether any entry ever had a lifetime: otherwise no clock is read.
    let usesLifetimes = Atomic<Bool>(false)
    /// Told of what leaves, by ``tellRemovals()``.
    let observer: Observer?
    @usableFromInline let hasObserver: Bool
    let untold = ForkSafeMutex<[(departure: PurgeableDeparture, cause: RemovalCause)]>([])
    let hasUntold = Atomic<Bool>(false)
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
    /// How often entries have been moved to other slots, where a sweep may miss them.
    let deals = Atomic<Int>(0)
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
        clock: LifetimeClock = .continuous,
        idleLifetime: Int64 = .max,
        fallbackLifetime: Int64 = 0,
        observer: Observer? = nil
    ) {
        self.clock = clock
        self.idleLifetime = idleLifetime
        self.fallbackLifetime = fallbackLifetime
        self.observer = observer
        hasObserver = observer != nil
        givenOrdinaryLimit = ordinaryLimit
        self.log = log
        pressure = governor.map(PressureAccount.init(governor:))
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

    /// Runs `body` under the lock of the hash's shard, with the slot of the key's entry.
    @inline(__always)
    func withEntry<M: KeyMatching, R: Sendable>(
        _ hash: IndexHash,
        _ word: UInt64,
        _ matching: inout M,
        _ body: (inout PurgeableShard.State, _ shard: Int, _ slot: Int?, M) -> R
    ) -> R {
        while true {
            let result: R? = locked(hash) { state, shard in
                var found: Int?
                var undecided = false
                matching.beginRound()
                state.index.forEachCandidate(hash, word: word) { slot in
                    let location = LogLocation(word: state.index[slot].pointee.location)
                    switch matching.verdict(shard: shard, slot: slot, location: location) {
                    case .equal: found = slot
                    case .different: return true
                    case .unknown: undecided = true
                    }
                    return found == nil
                }
                if found != nil || !undecided { return body(&state, shard, found, matching) }
                matching.copyUnknown(shard: shard)
                return nil
            }
            if let result { return result }
            matching.decide()
        }
    }

    // MARK: Reading

    /// What an entry points to.
    struct Found: Sendable {
        var location: LogLocation?
        var large: PurgeableBytes?
        /// Whether it is time to look at the clock.
        var isTick = false
        /// Whether there is an entry whose lifetime is over.
        var isExpired = false
    }

    @inline(__always)
    func find<M: KeyMatching>(_ hash: IndexHash, _ word: UInt64, _ matching: inout M, now: Int64) -> Found {
        withEntry(hash, word, &matching) { state, _, slot, _ in
            state.operations &+= 1
            let isTick = state.operations & (PurgeableMaintenance.operationsBetween - 1) == 0
            guard let slot else {
                state.misses &+= 1
                return Found(isTick: isTick)
            }
            if let wheel = state.wheel {
                if wheel.deadline(of: UInt32(slot + 1)) <= now {
                    state.misses &+= 1
                    return Found(isTick: isTick, isExpired: true)
                }
                if idleLifetime != .max {
                    wheel.postpone(UInt32(slot + 1), to: EntryDeadline.moment(idleLifetime, after: now))
                }
            }
            state.hits &+= 1
            let entry = state.index[slot]
            let location = LogLocation(word: entry.pointee.location)
            // A hit marks its entry once for each round of the hand, so that hot lines stay clean.
            if !location.isReferenced { entry.pointee.location |= LogLocation.referencedBit }
            if location.isLarge {
                return Found(location: location, large: state.large[location.largePlace]?.value, isTick: isTick)
            }
            log.prefetch(location)
            return Found(location: location, isTick: isTick)
        }
    }

    @inline(__always)
    func bytes<M: KeyMatching>(word: UInt64, matching: consuming M) -> [UInt8]? {
        let hash = hash(word)
        let shard = hash.shard(mask: shardMask.load(ordering: .relaxed))
        tablePlace(shard).prefetch { hash.place(capacity: $0) }
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = now
        var isTick = false
        var bytes: [UInt8]?
        while true {
            let found = find(hash, word, &matching, now: now)
            isTick = isTick || found.isTick
            guard let location = found.location else {
                if found.isExpired { dropExpired(hash, word, &matching, now: now) }
                break
            }
            bytes = found.large.map { $0.copyBytes() } ?? copy(location, hash)
            if bytes != nil || !dropLost(hash, word, &matching, location) { break }
        }
        log.gate.leave(pass)
        if isTick { maintainIfSecondPassed() }
        if hasUntold.load(ordering: .relaxed) { tellRemovals() }
        return bytes
    }

    /// A copy of an item of the log, if it is still there. The caller is inside the gate.
    @inline(__always)
    func copy(_ location: LogLocation, _ hash: IndexHash) -> [UInt8]? {
        var result = SegmentLog.ReadResult.stale
        // Room for a byte at least: an array of none has no address, and its count is stored in what all such share.
        let bytes = [UInt8](unsafeUninitializedCapacity: max(1, location.byteCount)) { buffer, count in
            result = log.read(location, hash48: hash.hash48, into: UnsafeMutableRawPointer(buffer.baseAddress!))
            count = result == .copied ? location.byteCount : 0
        }
        return result == .copied ? bytes : nil
    }

    /// Lends the bytes to `body`: large values are held in place, others copied.
    @inline(__always)
    func withBytes<M: KeyMatching, R, E>(
        word: UInt64,
        matching: consuming M,
        _ body: (RawSpan) throws(E) -> R
    ) throws(E) -> R? {
        let hash = hash(word)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = now
        var found = find(hash, word, &matching, now: now)
        var bytes: [UInt8]?
        while let location = found.location, found.large == nil {
            bytes = copy(location, hash)
            if bytes != nil || !dropLost(hash, word, &matching, location) { break }
            found = find(hash, word, &matching, now: now)
        }
        if found.isExpired { dropExpired(hash, word, &matching, now: now) }
        log.gate.leave(pass)
        if found.isTick { maintainIfSecondPassed() }
        if hasUntold.load(ordering: .relaxed) { tellRemovals() }
        if let bytes {
            // Not `bytes.span`, which needs macOS 26.
            return try bytes.withUnsafeBufferPointer { buffer throws(E) in
                try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(buffer)))
            }
        }
        guard let large = found.large, let location = found.location else { return nil }
        // Outside of the gate, which user code could hold open for ever.
        if let result = try large.withBytes(body) { return result }
        let again = log.gate.enter(0)
        _ = dropLost(hash, word, &matching, location)
        log.gate.leave(again)
        return nil
    }

    /// Removes the entry that a read found lost, and counts the hit as a miss. True where the key has another value by
    /// now, or its bytes have been moved: then nothing is lost, and the hit is not counted, because the caller looks
    /// again.
    func dropLost<M: KeyMatching>(
        _ hash: IndexHash,
        _ word: UInt64,
        _ matching: inout M,
        _ location: LogLocation
    ) -> Bool {
        var departures = PurgeableDepartures()
        let isElsewhere = withEntry(hash, word, &matching) { state, shard, slot, _ in
            state.hits &-= 1
            if let slot {
                if !state.holds(location, in: slot) { return true }
                take(slot, hash, &state, shard, &departures)
            }
            state.misses &+= 1
            return false
        }
        settle(&departures, .discarded)
        return isElsewhere
    }

    @inline(__always)
    func contains<M: KeyMatching>(word: UInt64, matching: consuming M) -> Bool {
        let hash = hash(word)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = now
        var isThere = false
        var place: LogLocation?
        while true {
            let found = withEntry(hash, word, &matching) { state, _, slot, _ in
                guard let slot, !(state.wheel?.deadline(of: UInt32(slot + 1)) ?? .max <= now) else { return Found() }
                let location = LogLocation(word: state.index[slot].pointee.location)
                return Found(
                    location: location.unreferenced,
                    large: location.isLarge ? state.large[location.largePlace]?.value : nil
                )
            }
            // Lost in one place, it may have been moved to another: then it is looked for again.
            guard let location = found.location, location != place else { break }
            place = location
            isThere = if let large = found.large { !large.isContentDiscarded } else { !log.isLost(location) }
            if isThere { break }
        }
        log.gate.leave(pass)
        return isThere
    }
}
