//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Removing many, a few at a time: a sweep holds a shard's lock for some dozens of entries and lets others in between.
extension CacheEngine {
    /// Entries that a sweep looks at or takes out in one critical section, and one insertion beside its own work: some
    /// microseconds.
    @usableFromInline static var mostSwept: Int { 32 }

    /// Slots that a sweep passes over in one critical section, 2 ns each.
    static var mostPassed: UInt32 { 2048 }

    // MARK: Everything

    /// Removes everything. Each shard's memory is exchanged for an empty one under its lock; the entries are let go of
    /// afterwards, one after the other.
    package func removeAll() {
        var detached: [EntryStorage<Key, Value>] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            if storage.count == 0 { return }
            shard.pointee.counters.removals[.removed] += storage.count
            shard.pointee.storage = makeStorage()
            shard.pointee.storage.generation = storage.generation
            shard.pointee.order.removeAll()
            shard.pointee.wheel = nil
            shard.pointee.publish()
            detached.append(storage)
        }
        for storage in detached {
            room?.pointee.giveBack(places: storage.count, cost: 0)
            if let costs = storage.costs {
                storage.forEachSlot { room?.pointee.giveBack(places: 0, cost: costs[Int($0)]) }
            }
        }
        drainStocks()
        for storage in detached {
            storage.forEachSlot { slot in
                var departures = EntryDepartures<Key, Value>()
                departures.append((storage.entries + Int(slot)).move(), cause: .removed)
                finish(departures)
            }
            storage.deallocate()
        }
    }

    // MARK: Expired entries

    /// The deadline up to which entries leave the cache at `now`. It lies behind `now` where expired entries are kept
    /// as fallbacks.
    @inlinable
    func fallbackEnd(at now: Int64) -> Int64 { EntryDeadline.before(now, by: fallbackLifetime) }

    /// Removes entries whose lifetime is over, and that are kept no longer.
    @usableFromInline
    package func removeExpired() {
        guard usesLifetimes.load(ordering: .relaxed) else { return }
        let now = fallbackEnd(at: clock.nanoseconds())
        // Handlers are told after each piece. A handler that asks for the count sweeps, too, and is told after the last
        // one: else it would call itself as many levels deep as there are pieces.
        let tellsAtEnd = UserCode.isRunning
        var departures = EntryDepartures<Key, Value>()
        sweepByTurns { index, isFirst in
            guard let shard = lockShard(at: index) else { return nil }
            if isFirst { shard.pointee.wheel?.restart() }
            let held = shard.pointee.storage.count
            let isDone = removeSomeExpired(shard, at: now, into: &departures)
            let removed = held - shard.pointee.storage.count
            unlock(shard)
            if !tellsAtEnd {
                finish(departures)
                departures = EntryDepartures()
            }
            return SweptPiece(held: held, removed: removed, isDone: isDone)
        }
        finish(departures)
    }

    /// Removes from `shard`, which is locked, some of what has outlived its lifetime, the entry at `slot` among them,
    /// which is about to be replaced, so that it is no fallback any more: 0 if that has, else `slot`.
    @usableFromInline
    @inline(never)
    func removeExpired(
        _ shard: ShardPointer,
        at now: Int64,
        keeping slot: UInt32,
        into departures: inout EntryDepartures<Key, Value>
    ) -> UInt32 {
        guard let wheel = shard.pointee.wheel else { return slot }
        let isOver = slot != 0 && wheel.deadline(of: slot) <= now
        if isOver { removeExpired(slot, shard, into: &departures) }
        // A handler that sets entries which expire at once would else call itself without end.
        if !UserCode.isRunning { _ = removeSomeExpired(shard, at: fallbackEnd(at: now), into: &departures) }
        return isOver ? 0 : slot
    }

    /// Removes up to ``mostSwept`` expired entries from `shard`, which is locked. Whether those were all.
    private func removeSomeExpired(
        _ shard: ShardPointer,
        at now: Int64,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Bool {
        guard let wheel = shard.pointee.wheel else { return true }
        var steps = Self.mostSwept
        for _ in 0..<Self.mostSwept {
            let due = wheel.firstDue(at: now, steps: &steps)
            if due == 0 { return steps > 0 }
            removeExpired(due, shard, into: &departures)
        }
        return false
    }

    private func removeExpired(
        _ slot: UInt32,
        _ shard: ShardPointer,
        into departures: inout EntryDepartures<Key, Value>
    ) {
        let cost = shard.pointee.storage.cost(of: slot)
        departures.append(shard.pointee.remove(slot, cause: .expired), cause: .expired)
        shard.pointee.room.pointee.giveBack(places: 1, cost: 0)
        returnCost(cost, from: shard)
    }

    // MARK: Discarded content

    /// Lets the dead make room for an entry of `cost` before the living must, where there is too little.
    ///
    /// Looks at the next few entries, going round the cache: at all of them in a cache of some dozens, at four for each
    /// insertion in a larger one.
    @usableFromInline
    @inline(never)
    func pruneDiscarded(for cost: Int) {
        guard let hooks, evictsDiscarded.load(ordering: .relaxed), let room else { return }
        let isFull =
            !room.pointee.hasPlace(within: countLimit) || !room.pointee.has(cost: cost, within: totalCostLimit)
        guard isFull else { return }
        let insertions = insertionsSincePruning.wrappingAdd(1, ordering: .relaxed).newValue
        guard entryCount <= Self.mostSwept || insertions % UInt32(Self.mostSwept / 4) == 0 else { return }
        var place = SweepPlace(word: pruningPlace.load(ordering: .relaxed))
        let entries = nextDiscardable(&place)
        pruningPlace.store(place.word, ordering: .relaxed)
        for entry in entries where hooks.isDiscarded(entry.value) {
            remove(entry.hash, entry.slot, entry.generation, holding: entry.value, cause: .discarded)
        }
    }

    /// Removes discardable values whose content is gone, unless the owner wants them kept.
    package func removeDiscarded() {
        guard let hooks, evictsDiscarded.load(ordering: .relaxed) else { return }
        forEachDiscardable { entry in
            guard hooks.isDiscarded(entry.value) else { return }
            remove(entry.hash, entry.slot, entry.generation, holding: entry.value, cause: .discarded)
        }
    }

    typealias DiscardableEntry = (hash: UInt64, slot: UInt32, generation: UInt32, value: Value)

    /// Where a sweep has got to: a shard, and the next slot in it.
    struct SweepPlace {
        var shard = 0
        var slot: UInt32 = 1

        init() {}

        init(word: UInt64) {
            shard = Int(word >> 32)
            slot = max(1, UInt32(truncatingIfNeeded: word))
        }

        var word: UInt64 { UInt64(shard) << 32 | UInt64(slot) }
    }

    /// Calls `body`, with no lock held, with every entry whose content can be discarded.
    func forEachDiscardable(_ body: (DiscardableEntry) -> Void) {
        guard hasDiscardable.load(ordering: .relaxed) else { return }
        var place = SweepPlace()
        repeat { nextDiscardable(&place).forEach(body) } while place.shard != 0 || place.slot != 1
    }

    /// The next entries whose content can be discarded, from `place` on, which moves on: behind the last shard to the
    /// beginning.
    private func nextDiscardable(_ place: inout SweepPlace) -> [DiscardableEntry] {
        guard let shard = lockShard(at: place.shard) else {
            place = SweepPlace()
            return []
        }
        defer { unlock(shard) }
        let storage = shard.pointee.storage
        var entries: [DiscardableEntry] = []
        let end = min(place.slot + Self.mostPassed, storage.highWater)
        while place.slot < end, entries.count < Self.mostSwept {
            let slot = place.slot
            place.slot += 1
            let info = storage.view[slot].pointee.info
            guard info != .vacant, info.has(EntryInfo.discardable) else { continue }
            let value = storage.entries[Int(slot)].value
            entries.append((storage.hash(of: slot), slot, storage.generation(of: slot), value))
        }
        if place.slot >= storage.highWater {
            place.shard += 1
            place.slot = 1
            if place.shard == shardCount { place.shard = 0 }
        }
        return entries
    }
}
