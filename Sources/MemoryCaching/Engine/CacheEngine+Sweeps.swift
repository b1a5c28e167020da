//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

extension CacheEngine {
    // MARK: Removing many

    /// Removes everything. Each shard's memory is exchanged for an empty one under its lock; the entries are let go of
    /// afterwards, one after the other.
    package func removeAll() {
        var detached: [EntryStorage<Key, Value>] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            if storage.count == 0 { return }
            budget.release(entries: storage.count, cost: 0)
            if let costs = storage.costs {
                storage.forEachSlot { budget.release(entries: 0, cost: costs[Int($0)]) }
            }
            shard.pointee.removals[.removed] += storage.count
            shard.pointee.storage = makeStorage()
            shard.pointee.storage.generation = storage.generation
            shard.pointee.costlyQueues.removeAll()
            shard.pointee.freeQueues.removeAll()
            shard.pointee.wheel = nil
            shard.pointee.publish()
            detached.append(storage)
        }
        for storage in detached {
            storage.forEachSlot { slot in
                var departures = EntryDepartures<Key, Value>()
                departures.append((storage.entries + Int(slot)).move(), cause: .removed)
                finish(departures)
            }
            storage.deallocate()
        }
    }

    /// Removes entries whose lifetime is over.
    package func removeExpired() {
        guard usesLifetimes.load(ordering: .relaxed) else { return }
        let now = clock.nanoseconds()
        var departures = EntryDepartures<Key, Value>()
        forEachShard { shard in
            _ = removeExpired(shard, at: now, keeping: 0, into: &departures)
            shard.pointee.publish()
        }
        finish(departures)
    }

    /// Removes from `shard`, which is locked, what has outlived its lifetime; 0 if `slot` is among it, else `slot`.
    @usableFromInline
    @inline(never)
    func removeExpired(
        _ shard: ShardPointer,
        at now: Int64,
        keeping slot: UInt32,
        into departures: inout EntryDepartures<Key, Value>
    ) -> UInt32 {
        guard let wheel = shard.pointee.wheel else { return slot }
        var kept = slot
        while case let due = wheel.firstDue(at: now), due != 0 {
            budget.release(entries: 1, cost: shard.pointee.storage.cost(of: due))
            departures.append(shard.pointee.remove(due, cause: .expired), cause: .expired)
            if due == slot { kept = 0 }
        }
        return kept
    }

    /// Lets the dead make room for an entry of `cost` before the living must, where there is too little.
    ///
    /// Looks through all entries, so in caches of more than some dozens not every time: about four entries for each
    /// insertion.
    @usableFromInline
    @inline(never)
    func pruneDiscarded(for cost: Int) {
        guard hasDiscardable.load(ordering: .relaxed) else { return }
        let (countLimit, costLimit) = (self.countLimit, totalCostLimit)
        let held = budget.entries.load(ordering: .relaxed)
        let isFull =
            countLimit > 0 && held >= countLimit || costLimit > 0 && budget.totalCost > costLimit - min(cost, costLimit)
        guard isFull, insertionsSincePruning.wrappingAdd(1, ordering: .relaxed).newValue >= held / 4 - 16 else {
            return
        }
        insertionsSincePruning.store(0, ordering: .relaxed)
        removeDiscarded()
    }

    /// Removes discardable values whose content is gone, unless the owner wants them kept.
    package func removeDiscarded() {
        guard let hooks, hasDiscardable.load(ordering: .relaxed), evictsDiscarded.load(ordering: .relaxed) else {
            return
        }
        for entry in discardableEntries() where hooks.isDiscarded(entry.value) {
            remove(entry.hash, entry.slot, entry.generation, cause: .discarded)
        }
    }

    typealias DiscardableEntry = (hash: UInt64, slot: UInt32, generation: UInt32, value: Value)

    func discardableEntries() -> [DiscardableEntry] {
        var entries: [DiscardableEntry] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            storage.forEachSlot { slot in
                guard storage.view[slot].pointee.info.has(EntryInfo.discardable) else { return }
                let value = storage.entries[Int(slot)].value
                entries.append((storage.hash(of: slot), slot, storage.generation(of: slot), value))
            }
        }
        return entries
    }

    // MARK: Looking at the whole

    /// Entries held, without those whose lifetime is over.
    package var count: Int {
        removeExpired()
        return budget.entries.load(ordering: .relaxed)
    }

    /// Sum of the costs held, without those whose lifetime is over; saturates at `Int.max`.
    package var totalCost: Int {
        removeExpired()
        return budget.totalCost
    }

    /// What has happened so far.
    package var statistics: CacheStatistics {
        var result = CacheStatistics()
        forEachShard { shard in
            result.hits += shard.pointee.hits
            result.misses += shard.pointee.misses
            result.insertions += shard.pointee.insertions
            result.refusals += shard.pointee.refusals
            result.removalCounts += shard.pointee.removals
        }
        if let figures = account?.figures {
            result.bytesAskedUnderPressure = figures.bytesAsked.load(ordering: .relaxed)
            result.bytesReturnedUnderPressure = figures.bytesReturned.load(ordering: .relaxed)
        }
        result.count = budget.entries.load(ordering: .relaxed)
        result.totalCost = budget.totalCost
        return result
    }

    /// All keys and values at some moment; no use of them.
    package func snapshot() -> [(key: Key, value: Value)] {
        var all: [(key: Key, value: Value)] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            storage.forEachSlot { all.append((storage.entries[Int($0)].key, storage.entries[Int($0)].value)) }
        }
        return all
    }

    /// Up to `limit` keys, those worth least first.
    package func coldestKeys(_ limit: Int) -> [Key] { Array(keysByWorth().prefix(max(0, limit))) }

    /// Up to `limit` keys, those worth most first.
    package func hottestKeys(_ limit: Int) -> [Key] { Array(keysByWorth().reversed().prefix(max(0, limit))) }

    /// Keys in the order in which they would go if nothing were used any more.
    private func keysByWorth() -> [Key] {
        var keys: [(key: Key, height: Double, order: Int)] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            let view = storage.view
            func collect(from head: UInt32) {
                var slot = head
                while slot != 0 {
                    let meta = view[slot].pointee
                    var height = shard.pointee.base + Double(meta.height)
                    if meta.info.has(EntryInfo.touched) {
                        let weight = shard.pointee.weights.weight(level: min(15, meta.info.level + 1))
                        height += Double(shard.pointee.weights.stay(weight: weight, density: meta.info.density))
                    }
                    keys.append((storage.entries[Int(slot)].key, height, keys.count))
                    slot = meta.next
                }
            }
            shard.pointee.costlyQueues.forEachHead(collect)
            shard.pointee.freeQueues.forEachHead(collect)
        }
        keys.sort { ($0.height, $0.order) < ($1.height, $1.order) }
        return keys.map(\.key)
    }

    // MARK: Settings

    /// The cache's name, for people.
    package var name: String {
        get { settings.withLock { $0 }.name }
        set { settings.withLock { $0.name = newValue } }
    }

    /// Whether values whose content is gone are dropped at lookup and in sweeps.
    package var evictsValuesWithDiscardedContent: Bool {
        get { evictsDiscarded.load(ordering: .relaxed) }
        set { evictsDiscarded.store(newValue, ordering: .relaxed) }
    }

    /// Called once for every departure, on the thread that caused it, after every lock is released.
    @usableFromInline
    package var removalObserver: ((Key, Value, RemovalCause) -> Void)? {
        get { settings.withLock { $0 }.observer }
        set {
            let old = settings.withLock { $0 }
            let new = Settings(name: old.name, observer: newValue)
            settings.withLock { $0 = new }
            hasObserver.store(newValue != nil, ordering: .relaxed)
            // What the old observer captured is let go of here, outside the mutex.
            _ = consume old
        }
    }
}
