//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Looking for entries whose content has been discarded, and removing them.
extension CacheEngine {
    /// Lets entries without content make room for an entry of `cost` before others must, where there is too little.
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
        guard entryCount <= SweptPiece.mostEntries || insertions % UInt32(SweptPiece.mostEntries / 4) == 0 else {
            return
        }
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
        let end = min(place.slot + SweptPiece.mostPassed, storage.highWater)
        while place.slot < end, entries.count < SweptPiece.mostEntries {
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
            if place.shard == shard.pointee.siblingCount { place.shard = 0 }
        }
        return entries
    }
}
