//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// Sweeping: entries of items that are lost, or whose segment was emptied, leave the index.
extension PurgeableStore {
    /// Goes over some of the index, from where it stopped the last time. The caller is alone at it.
    ///
    /// Some 3 ns an entry; no page is touched. A lock is held for a thousand entries at a time.
    func sweepSome() { sweep(PurgeableChores.entriesPerStep) }

    /// Goes over the whole index if any entry is to leave it. O(entries).
    func sweepAll() {
        chores.sweepIsDue = chores.sweepIsDue || chores.sweep != nil
        chores.sweep = nil
        while chores.sweepIsDue || chores.sweep != nil { sweep(.max) }
    }

    private func sweep(_ count: Int) {
        if chores.sweep == nil, chores.sweepIsDue {
            chores.sweepIsDue = false
            chores.sweep = (0, .max)
            log.sweepStarts()
        }
        var left = count
        let pass = log.gate.enter(0)
        while let (shard, limit) = chores.sweep, left > 0 {
            let next = sweep(shard, below: limit, atMost: min(left, 1024))
            left -= 1024
            if let next {
                chores.sweep = (shard, next)
            } else {
                shrink(shard)
                chores.sweep = shard + 1 < Self.shardCount ? (shard + 1, .max) : nil
                if chores.sweep == nil { log.sweepFinished() }
            }
        }
        log.gate.leave(pass)
    }

    /// Sweeps `count` slots of a shard below `limit`; answers below which slot to go on, or nil at the end. Downwards,
    /// as all walks, see `PurgeableStore+Listing`.
    private func sweep(_ shard: Int, below limit: Int, atMost count: Int) -> Int? {
        var lost = PurgeableDepartures()
        let next: Int? = locked(shard: shard) { state in
            let end = min(limit, state.index.slotCount)
            let first = max(0, end - count)
            for slot in (first..<end).reversed() {
                let entry = state.index[slot].pointee
                let location = LogLocation(word: entry.location)
                if location.word == 0 || location.isLarge { continue }
                guard log.isStale(location) || log.isKnownLost(location) else { continue }
                let hash = hash(entry.word)
                take(slot, hash, &state, shard, &lost)
                state.ghosts?.insert(hash)
            }
            return first > 0 ? first : nil
        }
        settle(&lost, .discarded)
        return next
    }

    /// Makes room for ghosts where there is none yet, or too little: as many as there are entries.
    func rememberGhosts() {
        for shard in 0..<Self.shardCount {
            locked(shard: shard) { state in
                let count = state.index.count
                guard (state.ghosts?.capacity ?? 0) < count * 7 / 10 else { return }
                state.ghosts = KeyGhosts(count: count)
            }
        }
        remembersGhosts.store(true, ordering: .relaxed)
    }
}
