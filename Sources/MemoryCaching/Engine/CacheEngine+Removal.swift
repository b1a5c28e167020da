//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Removing one entry: by its key, or where it was seen to stand.
extension CacheEngine {
    /// Removes and returns the value for `key`.
    @inlinable
    @discardableResult
    package func removeValue(forKey key: Key) -> Value? {
        let now = lifetimes.now
        let hash = KeyHash.hash(key, seed: seed)
        let (shard, slot) = locate(key, hash)
        if slot == 0 {
            // The shadow may hold what has been evicted; whoever removes it knows it to be out of date.
            if SampledUses.includes(hash) { shard.pointee.noteRemoval(hash) }
            unlock(shard)
            return nil
        }
        if shard.pointee.wheel?.deadline(of: slot) ?? .max <= now {
            removeLocked(shard, slot, cause: .expired)
            return nil
        }
        let value = shard.pointee.storage.entries[Int(slot)].value
        removeLocked(shard, slot, cause: .removed)
        return value
    }

    /// Whether two values are the same bits, and so the same references: known without code of the user's.
    @inlinable
    static func areSameBits(_ left: inout Value, _ right: Value) -> Bool {
        withUnsafeBytes(of: &left) { left in withUnsafeBytes(of: right) { left.elementsEqual($0) } }
    }

    /// Takes `slot` out of `shard`, whose lock it releases, and tells of it; returns its cost.
    @inlinable
    @discardableResult
    func removeLocked(_ shard: ShardPointer, _ slot: UInt32, cause: RemovalCause) -> Int {
        var departures = EntryDepartures<Key, Value>()
        let cost = shard.pointee.storage.cost(of: slot)
        departures.append(shard.pointee.remove(slot, cause: cause), cause: cause)
        shard.pointee.room.pointee.giveBack(places: 1, cost: 0)
        returnCost(cost, from: shard)
        unlock(shard)
        finish(departures)
        return cost
    }

    /// Removes the entry that stood at `slot` with `generation`, unless it has gone already or holds another value by
    /// now; returns its cost.
    @inlinable
    @discardableResult
    func remove(
        _ hash: UInt64,
        _ slot: UInt32,
        _ generation: UInt32,
        holding value: Value,
        cause: RemovalCause
    ) -> Int {
        let shard = lockShard(hash)
        var found: UInt32 = 0
        shard.pointee.storage.forEachCandidate(hash) {
            if $0 == slot, shard.pointee.storage.generation(of: $0) == generation,
                Self.areSameBits(&shard.pointee.storage.entries[Int($0)].value, value)
            {
                found = $0
            }
            return found == 0
        }
        if found != 0 { return removeLocked(shard, found, cause: cause) }
        unlock(shard)
        return 0
    }
}
