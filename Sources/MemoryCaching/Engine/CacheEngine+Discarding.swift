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
        guard evictsDiscarded.load(ordering: .relaxed), let room, !UserCode.isDeepest else { return }
        let isFull =
            !room.pointee.hasPlace(within: countLimit) || !room.pointee.has(cost: cost, within: totalCostLimit)
        guard isFull else { return }
        let insertions = insertionsSincePruning.wrappingAdd(1, ordering: .relaxed).newValue
        guard entryCount <= SweptPiece.mostEntries || insertions % UInt32(SweptPiece.mostEntries / 4) == 0 else {
            return
        }
        var place = EngineSweep(word: pruningPlace.load(ordering: .relaxed))
        var entries: [DiscardableEntry] = []
        if nextDiscardable(&place, into: &entries) { place = EngineSweep() }
        pruningPlace.store(place.word, ordering: .relaxed)
        for entry in entries where isDiscarded(entry.value) {
            removeDiscarded(entry.hash, entry.slot, entry.generation)
        }
    }

    /// Removes discardable values whose content is gone, unless the owner wants them kept.
    package func removeDiscarded() {
        guard hooks != nil, evictsDiscarded.load(ordering: .relaxed), !UserCode.isDeepest else { return }
        forEachDiscardable { entry in
            guard isDiscarded(entry.value) else { return }
            removeDiscarded(entry.hash, entry.slot, entry.generation)
        }
    }

    /// Removes the entry for `key` if its content is gone, unless the owner wants such values kept.
    func removeDiscarded(forKey key: Key) {
        guard hooks != nil, evictsDiscarded.load(ordering: .relaxed) else { return }
        let hash = KeyHash.hash(key, seed: seed)
        let (shard, slot) = locate(key, hash)
        guard slot != 0, shard.pointee.storage.view[slot].pointee.info.has(EntryInfo.discardable) else {
            unlock(shard)
            return
        }
        let generation = shard.pointee.storage.generation(of: slot)
        unlock(shard)
        removeDiscarded(hash, slot, generation)
    }

    /// Whether the content of a value that a search has met is gone. Who answers that may use the cache, but starts no
    /// search by it: that would ask the same again, inside itself.
    func isDiscarded(_ value: Value) -> Bool {
        guard let hooks else { return false }
        return UserCode.runDeepest { hooks.isDiscarded(value) }
    }

    @usableFromInline
    package func discardUnusedContent() -> Int {
        guard let hooks else { return 0 }
        let bytesPerCostlessEntry = bytesPerCostlessEntry
        var freed = 0
        forEachDiscardable { entry in
            hooks.discardIfPossible(entry.value)
            guard hooks.isDiscarded(entry.value),
                let cost = removeDiscarded(entry.hash, entry.slot, entry.generation)
            else { return }
            freed = freed.saturatingAdding(cost > 0 ? cost : bytesPerCostlessEntry)
        }
        return freed
    }

    typealias DiscardableEntry = (hash: UInt64, slot: UInt32, generation: UInt32, value: Value)

    /// Calls `body`, with no lock held, with every entry whose content can be discarded.
    func forEachDiscardable(_ body: (DiscardableEntry) -> Void) {
        guard hasDiscardable.load(ordering: .relaxed) else { return }
        var place = EngineSweep()
        var isDone = false
        while !isDone {
            var entries: [DiscardableEntry] = []
            isDone = nextDiscardable(&place, into: &entries)
            entries.forEach(body)
        }
    }

    /// Appends the next entries whose content can be discarded, from `place` on, which moves on; true behind the last.
    private func nextDiscardable(_ place: inout EngineSweep, into entries: inout [DiscardableEntry]) -> Bool {
        advance(&place) { shard, place in
            let storage = shard.pointee.storage
            guard storage.view[place.slot].pointee.info.has(EntryInfo.discardable) else { return false }
            let value = storage.entries[Int(place.slot)].value
            entries.append((storage.hash(of: place.slot), place.slot, storage.generation(of: place.slot), value))
            return true
        }
    }
}
