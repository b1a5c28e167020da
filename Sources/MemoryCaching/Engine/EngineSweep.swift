//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How far a sweep over all entries of an engine has come, between its pieces.
package struct EngineSweep: Sendable {
    fileprivate(set) var shard = 0
    fileprivate(set) var slot: UInt32 = 1
    /// The number of shards that the places are meant for: an engine that splits is swept from the beginning.
    fileprivate(set) var shardCount = 0

    package init() {}

    /// The place that ``word`` gave.
    init(word: UInt64) {
        shard = Int(word >> 40)
        shardCount = Int(truncatingIfNeeded: word >> 32) & 0xFF
        slot = max(1, UInt32(truncatingIfNeeded: word))
    }

    /// The place in one word: a shard, the number of shards, both at most 128, and the slot.
    var word: UInt64 { UInt64(shard) << 40 | UInt64(shardCount) << 32 | UInt64(slot) }
}

extension CacheEngine {
    /// Removes the obsolete among the next entries, ``SweptPiece/mostEntries`` at most, from `place` on, which moves
    /// on.
    ///
    /// - Parameter isObsolete: runs under the lock of a shard: it compares plain words and calls nobody.
    /// - Returns: whether the sweep has come to the end. Entries that came in behind it were not looked at.
    package func removeSome(from place: inout EngineSweep, where isObsolete: (Value) -> Bool) -> Bool {
        var departures = EntryDepartures<Key, Value>()
        defer { finish(departures) }
        return advance(&place) { shard, place in
            guard isObsolete(shard.pointee.storage.entries[Int(place.slot)].value) else { return false }
            let cost = shard.pointee.storage.cost(of: place.slot)
            departures.append(shard.pointee.remove(place.slot, cause: .removed), cause: .removed)
            shard.pointee.room.pointee.giveBack(places: 1, cost: 0)
            returnCost(cost, from: shard)
            return true
        }
    }

    /// Calls `body`, with their shard locked, with the next entries from `place` on, which moves on; true if these are
    /// the last.
    ///
    /// - Parameter body: answers whether the entry counts: a piece ends after ``SweptPiece/mostEntries`` that do.
    func advance(_ place: inout EngineSweep, _ body: (ShardPointer, EngineSweep) -> Bool) -> Bool {
        guard let shard = lockShard(at: place.shard) else { return true }
        defer { unlock(shard) }
        if place.shardCount != shard.pointee.siblingCount {
            let isElsewhere = place.shard > 0
            place = EngineSweep()
            place.shardCount = shard.pointee.siblingCount
            if isElsewhere { return false }
        }
        let end = min(place.slot + SweptPiece.mostPassed, shard.pointee.storage.highWater)
        var left = SweptPiece.mostEntries
        while place.slot < end, left > 0 {
            if shard.pointee.storage.holds(place.slot), body(shard, place) { left -= 1 }
            place.slot += 1
        }
        if place.slot >= shard.pointee.storage.highWater {
            place.shard += 1
            place.slot = 1
        }
        return place.shard == place.shardCount
    }
}
