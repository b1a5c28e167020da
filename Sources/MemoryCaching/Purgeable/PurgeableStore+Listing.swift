//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Going over all entries: a few at a time, with the shard's lock released in between. When entries have been moved to
// other slots meanwhile, a walk begins anew.
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

    /// All entries whose lifetime is not over, those first that would be evicted first; no use of them. What others
    /// set or remove meanwhile may be among them or not.
    func listed() -> [Listed] {
        var all: [Listed] = []
        var dealsBefore: Int
        repeat {
            dealsBefore = deals.load(ordering: .acquiring)
            all = []
            for shard in 0..<Self.shardCount {
                var slot: Int? = 0
                while let from = slot { slot = list(shard, from: from, countsFallbacks: false, into: &all) }
            }
        } while deals.load(ordering: .acquiring) != dealsBefore
        return all.sorted { $0.rank < $1.rank }
    }

    /// Removes the entries that `isInvalid` names, and tells of each few before the next go. It is asked outside every
    /// lock; what is set meanwhile may stay or go.
    ///
    /// Entries are found again by their slots: a key that is not equal to itself is not found by looking it up.
    func removeEach(where isInvalid: (Listed) -> Bool) {
        var knownDeals = deals.load(ordering: .acquiring)
        var place: (shard: Int, slot: Int) = (0, 0)
        while place.shard < Self.shardCount {
            var met: [Listed] = []
            let next = list(place.shard, from: place.slot, countsFallbacks: true, into: &met)
            for entry in met where isInvalid(entry) { remove(entry) }
            tellRemovals()
            if let next {
                place.slot = next
            } else {
                if shrink(place.shard) { knownDeals += 1 }
                place = (place.shard + 1, 0)
            }
            let dealsNow = deals.load(ordering: .acquiring)
            if dealsNow != knownDeals { (knownDeals, place) = (dealsNow, (0, 0)) }
        }
    }

    /// Adds the entries of the next ``SweptPiece/mostEntries`` slots of a shard to `all`; answers where to go on, or
    /// nil at its end.
    private func list(_ shard: Int, from first: Int, countsFallbacks: Bool, into all: inout [Listed]) -> Int? {
        let now = countsFallbacks ? lifetimes.fallbackEnd(at: lifetimes.now) : lifetimes.now
        return locked(shard: shard) { state in
            let count = state.index.slotCount
            let end = min(first + SweptPiece.mostEntries, count)
            for slot in first..<max(first, end) {
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
            return end < count ? end : nil
        }
    }

    /// Removes an entry that a walk has met, unless its slot has another key by now.
    private func remove(_ listed: Listed) {
        let pass = log.gate.enter(listed.shard)
        let now = lifetimes.now
        var removal = PurgeableRemoval()
        locked(shard: listed.shard) { state in
            guard listed.slot < state.index.slotCount else { return }
            let entry = state.index[listed.slot].pointee
            guard entry.location != 0, entry.word == listed.word,
                keys?.bits(shard: listed.shard, slot: listed.slot) == listed.bits
            else { return }
            take(listed.slot, hash(entry.word), &state, listed.shard, now: now, &removal)
        }
        _ = settle(&removal)
        log.gate.leave(pass)
    }
}
