//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Going over all entries for the owner: what is listed is a snapshot, and no use of the entries.
extension CacheEngine {
    /// Up to `limit` keys, those worth least first.
    package func coldestKeys(_ limit: Int) -> [Key] {
        entriesByWorth(.coldest, limit) { storage, slot in storage.entries[Int(slot)].key }
    }

    /// Up to `limit` keys, those worth most first.
    package func hottestKeys(_ limit: Int) -> [Key] {
        entriesByWorth(.hottest, limit) { storage, slot in storage.entries[Int(slot)].key }
    }

    /// Up to `limit` keys and values, those worth most first, without those whose content has been discarded.
    package func entries(limit: Int) -> [(key: Key, value: Value)] {
        var most = limit
        while true {
            var living = entriesByWorth(.hottest, most) { storage, slot in
                (key: storage.entries[Int(slot)].key, value: storage.entries[Int(slot)].value)
            }
            let isAll = living.count < most
            if let hooks, hasDiscardable.load(ordering: .relaxed), evictsDiscarded.load(ordering: .relaxed) {
                living.removeAll { hooks.isDiscarded($0.value) }
            }
            if isAll || living.count >= limit { return Array(living.prefix(max(0, limit))) }
            most = most.saturatingAdding(most)
        }
    }

    /// Removes the entries whose keys `isInvalid` names. It is asked outside the locks, for a few entries at a time;
    /// what is set meanwhile may stay or go.
    ///
    /// Entries are found again by their slots: a key that is not equal to itself is not found by looking it up.
    package func removeAll(where isInvalid: (Key) -> Bool) {
        var place = EngineSweep()
        var met: [Met] = []
        var isDone = false
        while !isDone {
            isDone = nextEntries(from: &place, into: &met)
            for entry in met where isInvalid(entry.key) { remove(entry) }
        }
    }

    /// An entry that a walk has met, and where.
    private struct Met {
        let place: EngineSweep
        let generation: UInt32
        let key: Key
    }

    /// The next entries from `place` on, ``SweptPiece/mostEntries`` at most; true if they are the last.
    private func nextEntries(from place: inout EngineSweep, into met: inout [Met]) -> Bool {
        met.removeAll(keepingCapacity: true)
        return advance(&place) { shard, place in
            let storage = shard.pointee.storage
            let generation = storage.generation(of: place.slot)
            met.append(Met(place: place, generation: generation, key: storage.entries[Int(place.slot)].key))
            return true
        }
    }

    /// Removes an entry that a walk has met, unless another one stands in its place by now. One that a split has moved
    /// is met again.
    private func remove(_ met: Met) {
        let now = lifetimes.now
        guard let shard = lockShard(at: met.place.shard) else { return }
        let storage = shard.pointee.storage
        let slot = met.place.slot
        // Integers have no generations, and are compared without code of the user's.
        guard met.place.shardCount == shard.pointee.siblingCount, storage.holds(slot),
            storage.generation(of: slot) == met.generation,
            !KeyHash<Key>.isInteger || storage.entries[Int(slot)].key == met.key
        else { return unlock(shard) }
        let isExpired = shard.pointee.wheel?.deadline(of: slot) ?? .max <= now
        removeLocked(shard, slot, cause: isExpired ? .expired : .removed)
    }

    /// What `part` takes of up to `limit` entries whose lifetime is not over, those at the `end` of the order first in
    /// which they would go if nothing were used any more. Each shard evicts its own least, mostly, so the least of each
    /// come first, then those next to them. Takes memory for `limit` entries of each shard, and for all of one.
    private func entriesByWorth<Part>(
        _ end: ListingEnd,
        _ limit: Int,
        _ part: (EntryStorage<Key, Value>, UInt32) -> Part
    ) -> [Part] {
        let now = lifetimes.now
        let limit = max(0, limit)
        var all: [(part: Part, height: Double, place: Double)] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            let view = storage.view
            let isByUse = shard.pointee.isByUse
            var found: [(slot: UInt32, height: Double, order: Int)] = []
            func collect(from head: UInt32) {
                var slot = head
                while slot != 0 {
                    let meta = view[slot].pointee
                    let deadline = shard.pointee.wheel?.deadline(of: slot) ?? .max
                    if deadline > now || deadline == .max {
                        var height = shard.pointee.base + (isByUse ? FineHeight(of: meta).value : Double(meta.height))
                        if meta.info.has(EntryInfo.touched) {
                            let weight = shard.pointee.weights.weight(level: min(15, meta.info.level + 1))
                            height += Double(shard.pointee.weights.stay(weight: weight, density: meta.info.density))
                        }
                        found.append((slot, height, found.count))
                    }
                    slot = meta.next
                }
            }
            shard.pointee.order.forEachHead(collect)
            found.sort { ($0.height, $0.order) < ($1.height, $1.order) }
            for place in end.range(limit, of: found.count) {
                let entry = found[place]
                all.append((part(storage, entry.slot), entry.height, Double(place) / Double(found.count)))
            }
        }
        all.sort { ($0.place, $0.height) < ($1.place, $1.height) }
        let chosen = all[end.range(limit, of: all.count)]
        return end == .coldest ? chosen.map(\.part) : chosen.reversed().map(\.part)
    }
}

/// At which end of the order in which entries go a list begins.
enum ListingEnd {
    /// With what goes first.
    case coldest
    /// With what would be kept longest.
    case hottest

    /// The places of the first `limit` of a list of `count`, which is in the order in which entries go.
    func range(_ limit: Int, of count: Int) -> Range<Int> {
        self == .coldest ? 0..<min(limit, count) : max(0, count - limit)..<count
    }
}
