//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// Moving entries to other slots: when the cache outgrows its one shard, and when a shard has become much too large.
extension PurgeableStore {
    /// Deals the entries of the one shard out to all. Once in a cache's life.
    ///
    /// No key's operation is in the other shards before the mask says so, but walks over all shards are: so each is
    /// locked, always after the first. Walks go upwards: what has left the first shard before a walk came to it, the
    /// walk meets further on.
    func split() {
        locked(shard: 0) { _ in
            guard shardMask.load(ordering: .relaxed) == 0 else { return }
            let mask = Self.shardCount - 1
            deal(0) { $0.shard(mask: mask) }
            for shard in 1...mask { locked(shard: shard) { publishTable(of: $0, shard) } }
            shardMask.store(mask, ordering: .releasing)
        }
    }

    /// Gives memory of one shard back, unless a quarter of its slots or more are in use.
    ///
    /// The hand goes round all slots, so that free ones cost every eviction time. The shard is locked for as long as it
    /// takes to rebuild: some 10 ns an entry and 1 ns a slot, and as many entries must go before it is done again.
    func shrink(_ shard: Int) {
        locked(shard: shard) { _ in
            guard shards[shard].state.isSparse else { return }
            // The hand stays before the entry that it was before.
            let passed = 0..<min(shards[shard].state.hand, shards[shard].state.index.slotCount)
            let hand = passed.count { shards[shard].state.index[$0].pointee.location != 0 }
            deal(shard) { _ in shard }
            shards[shard].state.ghosts = nil
            shards[shard].state.hand = hand
        }
    }

    /// Moves a shard's entries to fresh slots, of it and of others; the caller holds the shard's lock.
    ///
    /// What stays in the shard keeps its order, and no entry gets a higher slot than it had. What goes to other shards
    /// goes to later ones. Walks over all entries rely on both.
    private func deal(_ from: Int, _ destination: (IndexHash) -> Int) {
        shards[from].state.deals &+= 1
        var old = PurgeableIndex()
        swap(&old, &shards[from].state.index)
        var wheel: TimerWheel?
        swap(&wheel, &shards[from].state.wheel)
        var large: [LargeSlot?] = []
        swap(&large, &shards[from].state.large)
        shards[from].state.freeLarge = []
        // In two rounds: first what goes to other shards. What stays then moves to lower slots than it had, so that
        // its keys never overwrite others.
        for round in 0..<2 {
            for slot in 0..<old.slotCount where old[slot].pointee.location != 0 {
                let entry = old[slot].pointee
                let hash = hash(entry.word)
                let shard = destination(hash)
                guard (shard == from) == (round == 1) else { continue }
                let location = LogLocation(word: entry.location)
                let moved = location.isLarge ? large[location.largePlace] : nil
                func place(_ state: inout PurgeableShard.State) {
                    let new = state.index.insert(hash, word: entry.word, location: location.word, seed: seed)!
                    if let moved {
                        let place = state.keep(moved.value, serial: moved.serial, slot: new)
                        state.index[new].pointee.location = place.word
                    }
                    if let wheel { state.schedule(new, wheel.entryDeadline(of: UInt32(slot + 1))) }
                    if shard != from || new != slot { keys?.move(shard: from, slot: slot, toShard: shard, slot: new) }
                }
                if shard == from { place(&shards[from].state) } else { locked(shard: shard, place) }
            }
        }
        publishTable(of: shards[from].state, from)
        keys?.shrink(shard: from, toSlots: shards[from].state.index.slotCount)
    }
}
