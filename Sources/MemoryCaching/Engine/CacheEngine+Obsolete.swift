//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How far a sweep over all entries of an engine has come, between its pieces.
package struct EngineSweep: Sendable {
    fileprivate var shard = 0
    fileprivate var slot: UInt32 = 1
    /// The number of shards that the places are meant for: an engine that splits is swept from the beginning.
    fileprivate var shardCount = 0

    package init() {}
}

extension CacheEngine {
    /// Removes the obsolete among the next entries, ``mostSwept`` at most, from `place` on, which moves on.
    ///
    /// - Parameter isObsolete: runs under the lock of a shard: it compares plain words and calls nobody.
    /// - Returns: whether the sweep has come to the end. Entries that came in behind it were not looked at.
    package func removeSome(from place: inout EngineSweep, where isObsolete: (Value) -> Bool) -> Bool {
        guard let shard = lockShard(at: place.shard) else { return true }
        if place.shardCount != shardCount {
            place = EngineSweep()
            place.shardCount = shardCount
            unlock(shard)
            return false
        }
        var departures = EntryDepartures<Key, Value>()
        let end = min(place.slot + Self.mostPassed, shard.pointee.storage.highWater)
        while place.slot < end, departures.count < Self.mostSwept {
            let slot = place.slot
            place.slot += 1
            guard shard.pointee.storage.view[slot].pointee.info != .vacant,
                isObsolete(shard.pointee.storage.entries[Int(slot)].value)
            else { continue }
            let cost = shard.pointee.storage.cost(of: slot)
            departures.append(shard.pointee.remove(slot, cause: .removed), cause: .removed)
            shard.pointee.room.pointee.giveBack(places: 1, cost: 0)
            returnCost(cost, from: shard)
        }
        if place.slot >= shard.pointee.storage.highWater {
            place.shard += 1
            place.slot = 1
        }
        unlock(shard)
        finish(departures)
        return false
    }
}
