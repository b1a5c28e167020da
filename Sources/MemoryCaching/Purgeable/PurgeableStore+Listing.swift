//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Going over all entries: a few at a time, with the shard's lock released in between.
//
// A walk goes through the shards upwards, and through the slots of each downwards. Entries are moved to shards further
// up and to lower slots alone, see `PurgeableStore+Dealing`: so what a walk has not met yet stays ahead of it, and it
// never has to begin anew. What it has met may come before it once more.
extension PurgeableStore {
    /// An entry as a walk sees it.
    struct Listed: @unchecked Sendable {
        // Sendable: keys are `Sendable` by the constraint of the cache, which the store does not know.

        let shard: Int
        let slot: Int
        let word: UInt64
        /// The key, where it is no integer, and its bits as they are in its slot.
        let key: Any?
        let bits: [UInt8]?
        /// How many of its shard's entries would be evicted before it, as a share: those that were read lately come
        /// after the others, each in the order in which the hand meets them.
        let rank: Double
    }

    /// Up to `limit` entries whose lifetime is not over, those at the `end` of the order first in which they would be
    /// evicted; no use of them. What others set or remove meanwhile may be among them or not. Takes memory for `limit`
    /// entries of each shard, and for all of one.
    func listed(_ end: ListingEnd, _ limit: Int) -> [Listed] {
        let limit = max(0, limit)
        var all: [Listed] = []
        var mask: Int
        repeat {
            mask = shardMask.load(ordering: .acquiring)
            all = []
            for shard in 0..<Self.shardCount {
                var entries = listed(shard)
                if entries.count > limit {
                    entries.sort { $0.rank < $1.rank }
                    all += entries[end.range(limit, of: entries.count)]
                } else {
                    all += entries
                }
            }
            // The one split of a cache's life moves what was listed to shards that were not yet. It says so at its end,
            // in the first shard's lock: one that is under way is waited for.
        } while locked(shard: 0) { _ in shardMask.load(ordering: .relaxed) } != mask
        all.sort { $0.rank < $1.rank }
        let chosen = all[end.range(limit, of: all.count)]
        return end == .coldest ? Array(chosen) : chosen.reversed()
    }

    /// The entries of a shard, each once.
    private func listed(_ shard: Int) -> [Listed] {
        var all: [Listed] = []
        var first: Piece?
        var end: Int? = .max
        var hasNewcomers = false
        while let below = end {
            let piece = list(shard, below: below, countsFallbacks: false, into: &all)
            if first?.deals ?? piece.deals == piece.deals {
                hasNewcomers = hasNewcomers || first?.insertions ?? piece.insertions != piece.insertions
                (first, end) = (first ?? piece, piece.next)
            } else {
                // Entries have come to other slots, and some would be listed twice.
                (all, first, end, hasNewcomers) = ([], nil, .max, false)
            }
        }
        return hasNewcomers ? distinct(all) : all
    }

    /// The last met of each key: one that was removed and set again meanwhile may have come to a slot further on.
    ///
    /// Only entries of one index word are compared, of which few shards have two.
    private func distinct(_ all: [Listed]) -> [Listed] {
        var met: [UInt64: [Int]] = [:]
        var isOld = [Bool](repeating: false, count: all.count)
        for (place, entry) in all.enumerated() {
            for earlier in met[entry.word, default: []] where !isOld[earlier] {
                isOld[earlier] = keys == nil || (entry.key as? AnyHashable) == (all[earlier].key as? AnyHashable)
            }
            met[entry.word, default: []].append(place)
        }
        return zip(all, isOld).compactMap { $1 ? nil : $0 }
    }

    /// Removes the entries that `isInvalid` names, and tells of each few before the next go. It is asked outside every
    /// lock; what is set meanwhile may stay or go.
    ///
    /// Entries are found again by the bits of their keys: one that is not equal to itself is not found by comparing it.
    func removeEach(where isInvalid: (Listed) -> Bool) {
        for shard in 0..<Self.shardCount {
            var end: Int? = .max
            while let below = end {
                var met: [Listed] = []
                end = list(shard, below: below, countsFallbacks: true, into: &met).next
                let bytes = met.reduce(0) { bytes, entry in isInvalid(entry) ? bytes + remove(entry) : bytes }
                maintainAfterRemoval(of: bytes)
                tellRemovals()
            }
            shrink(shard)
        }
    }

    /// How far a walk has come through a shard.
    private struct Piece {
        /// Below which slot to go on; nil at the end.
        var next: Int?
        /// How often the shard's entries have been moved.
        var deals: Int
        /// How many values have been set in it.
        var insertions: Int
    }

    /// Adds the entries of the next ``SweptPiece/mostEntries`` slots of a shard, below `limit`, to `all`.
    private func list(
        _ shard: Int,
        below limit: Int,
        countsFallbacks: Bool,
        into all: inout [Listed]
    ) -> Piece {
        let now = countsFallbacks ? lifetimes.fallbackEnd(at: lifetimes.now) : lifetimes.now
        return locked(shard: shard) { state in
            let count = state.index.slotCount
            let end = min(limit, count)
            let first = max(0, end - SweptPiece.mostEntries)
            for slot in (first..<end).reversed() {
                let entry = state.index[slot].pointee
                let location = LogLocation(word: entry.location)
                guard location.word != 0, location.isLarge || !log.isStale(location) else { continue }
                guard now == .min || state.deadline(of: slot).next > now else { continue }
                let distance = (slot - min(state.hand, count) + count) % count
                all.append(
                    Listed(
                        shard: shard,
                        slot: slot,
                        word: entry.word,
                        key: keys?.anyKey(shard: shard, slot: slot),
                        bits: countsFallbacks ? keys?.bits(shard: shard, slot: slot) : nil,
                        rank: Double(distance) / Double(count) + (location.isReferenced ? 1 : 0)
                    )
                )
            }
            return Piece(next: first > 0 ? first : nil, deals: state.deals, insertions: state.insertions)
        }
    }

    /// Removes an entry that a walk has met, wherever it has been moved since; answers the bytes that it took.
    private func remove(_ listed: Listed) -> Int {
        let hash = hash(listed.word)
        let pass = log.gate.enter(listed.shard)
        let now = lifetimes.now
        var removal = PurgeableRemoval()
        locked(hash) { state, shard in
            func isIt(_ slot: Int) -> Bool {
                slot < state.index.slotCount && state.index[slot].pointee.location != 0
                    && state.index[slot].pointee.word == listed.word
                    && keys?.bits(shard: shard, slot: slot) == listed.bits
            }
            var found = shard == listed.shard && isIt(listed.slot) ? listed.slot : nil
            if found == nil {
                state.index.forEachTagged(hash) { slot in
                    if isIt(slot) { found = slot }
                    return found == nil
                }
            }
            if let found { take(found, hash, &state, shard, now: now, &removal) }
        }
        let bytes = removal.departures.bytesInSegments
        _ = settle(&removal)
        log.gate.leave(pass)
        return bytes
    }
}
