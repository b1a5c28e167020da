//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// An entry as a listing sees it.
    struct Listed: @unchecked Sendable {
        // Sendable: keys are `Sendable` by the constraint of the cache, which the store does not know.

        let word: UInt64
        /// The key, where it is no integer.
        let key: Any?
        /// How many of its shard's entries would be evicted before it, as a share: those that were read lately come
        /// after the others, each in the order in which the hand meets them.
        let rank: Double
    }

    /// All entries whose lifetime is not over, at some moment, those first that would be evicted first; no use of them.
    func listed() -> [Listed] {
        (0..<Self.shardCount).flatMap { listed(shard: $0) }.sorted { $0.rank < $1.rank }
    }

    /// As ``listed()``, of one shard, in the order of its slots.
    ///
    /// - Parameter countsFallbacks: whether expired entries count that are kept.
    func listed(shard: Int, countsFallbacks: Bool = false) -> [Listed] {
        let now = countsFallbacks ? fallbackEnd(at: self.now) : self.now
        return locked(shard: shard) { state in
            var all: [Listed] = []
            let count = state.index.slotCount
            for slot in 0..<count {
                let entry = state.index[slot].pointee
                let location = LogLocation(word: entry.location)
                guard location.word != 0, location.isLarge || !log.isStale(location) else { continue }
                guard now == .min || state.deadline(of: slot).next > now else { continue }
                let distance = (slot - min(state.hand, count) + count) % count
                let rank = Double(distance) / Double(count) + (location.isReferenced ? 1 : 0)
                all.append(Listed(word: entry.word, key: keys?.anyKey(shard: shard, slot: slot), rank: rank))
            }
            return all
        }
    }
}
