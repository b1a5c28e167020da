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

    /// Removes the entry that stands at `slot` with `generation` if its content is gone; returns its cost. Nil where it
    /// has left already, or holds another value by now.
    ///
    /// Who has a copy of the value and has found it so cannot show that the entry still holds it: what lies between the
    /// fields of a copy is not what lies there in the entry. (An existential that holds an object has two words without a
    /// meaning.) So the bits are taken from the entry, and the content is asked about once more.
    @usableFromInline
    @inline(never)
    @discardableResult
    func removeDiscarded(_ hash: UInt64, _ slot: UInt32, _ generation: UInt32) -> Int? {
        withUnsafeTemporaryAllocation(
            byteCount: MemoryLayout<Value>.size,
            alignment: MemoryLayout<Value>.alignment
        ) { bits in
            var shard = lockShard(hash)
            guard stands(slot, hash, generation, in: shard) else {
                unlock(shard)
                return nil
            }
            // It keeps what it refers to from being freed: so equal bits mean the same value later.
            let value = shard.pointee.storage.entries[Int(slot)].value
            withUnsafeBytes(of: &shard.pointee.storage.entries[Int(slot)].value) { bits.copyMemory(from: $0) }
            unlock(shard)
            guard isDiscarded(value) else { return nil }
            shard = lockShard(hash)
            let isSame =
                stands(slot, hash, generation, in: shard)
                && withUnsafeBytes(of: &shard.pointee.storage.entries[Int(slot)].value) { $0.elementsEqual(bits) }
            if isSame { return removeLocked(shard, slot, cause: .discarded) }
            unlock(shard)
            return nil
        }
    }

    /// Whether an entry of this hash stands at `slot` of `shard`, which is locked, with `generation`.
    private func stands(_ slot: UInt32, _ hash: UInt64, _ generation: UInt32, in shard: ShardPointer) -> Bool {
        var isThere = false
        shard.pointee.storage.forEachCandidate(hash) {
            isThere = $0 == slot && shard.pointee.storage.generation(of: $0) == generation
            return !isThere
        }
        return isThere
    }
}
