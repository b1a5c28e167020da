//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Removing many, a few at a time: a sweep holds a shard's lock for some dozens of entries and lets others in between.
extension CacheEngine {
    // MARK: Everything

    /// Removes everything. Each shard's memory is exchanged for an empty one under its lock; the entries are let go of
    /// afterwards, one after the other.
    package func removeAll() {
        var detached: [EntryStorage<Key, Value>] = []
        forEachShard { shard in
            shard.pointee.forgetSample()
            let storage = shard.pointee.storage
            if storage.count == 0 { return }
            shard.pointee.counters.removals[.removed] += storage.count
            shard.pointee.storage = makeStorage(in: storage.stable)
            shard.pointee.storage.generation = storage.generation
            shard.pointee.forgetOrder()
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

    /// Removes entries whose lifetime is over, and that are kept no longer.
    @usableFromInline
    package func removeExpired() {
        if lifetimes.areUsed { _ = specialized(self, .removeExpired) }
    }

    /// Removes expired entries, as long as `isNeeded` answers true before each piece of a shard.
    @inlinable
    @inline(never)
    func sweepExpired(while isNeeded: () -> Bool = { true }) {
        let now = lifetimes.fallbackEnd(at: lifetimes.clock.nanoseconds())
        // Handlers are told after each piece. A handler that asks for the count sweeps, too, and is told after the last
        // one: else it would call itself as many levels deep as there are pieces.
        let tellsAtEnd = UserCode.isRunning
        var departures = EntryDepartures<Key, Value>()
        sweepByTurns { index, isFirst in
            guard isNeeded(), let shard = lockShard(at: index) else { return nil }
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

    /// Removes from `shard`, which is locked, the expired entry at `slot`, unless that is 0, which is about to be
    /// replaced, so that it is no fallback any more; and some of what has outlived its lifetime and is kept no longer.
    @inlinable
    @inline(never)
    func removeExpired(
        _ shard: ShardPointer,
        at now: Int64,
        _ slot: UInt32,
        into departures: inout EntryDepartures<Key, Value>
    ) {
        guard shard.pointee.wheel != nil else { return }
        if slot != 0 { removeExpired(slot, shard, into: &departures) }
        // A handler that sets entries which expire at once would else call itself without end.
        if !UserCode.isRunning { _ = removeSomeExpired(shard, at: lifetimes.fallbackEnd(at: now), into: &departures) }
    }

    /// Removes up to ``SweptPiece/mostEntries`` expired entries from `shard`, which is locked. Whether those were all.
    @inlinable
    func removeSomeExpired(
        _ shard: ShardPointer,
        at now: Int64,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Bool {
        guard let wheel = shard.pointee.wheel else { return true }
        var steps = SweptPiece.mostEntries
        for _ in 0..<SweptPiece.mostEntries {
            let due = wheel.firstDue(at: now, steps: &steps)
            if due == 0 { return steps > 0 }
            removeExpired(due, shard, into: &departures)
        }
        return false
    }

    @inlinable
    func removeExpired(
        _ slot: UInt32,
        _ shard: ShardPointer,
        into departures: inout EntryDepartures<Key, Value>
    ) {
        let cost = shard.pointee.storage.cost(of: slot)
        departures.append(shard.pointee.remove(slot, cause: .expired), cause: .expired)
        shard.pointee.room.pointee.giveBack(places: 1, cost: 0)
        returnCost(cost, from: shard)
    }
}
