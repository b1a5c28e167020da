//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// Evicts until the limits hold, after one has been set. Entries whose lifetime is over go first.
    func enforceLimits() {
        if room.exceedsCountLimit || room.exceedsCostLimit { removeExpired() }
        evict(.countLimit) { room.exceedsCountLimit }
        evict(.costLimit) { room.exceedsCostLimit }
    }

    /// Evicts until there are `limit` entries at most, or as many have gone as there were: others go on inserting.
    func trim(toCount limit: Int) {
        removeExpired()
        evict(.countLimit, atMost: room.count) { room.exceeds(count: limit) }
    }

    /// Evicts until there are `limit` bytes at most, or as many entries have gone as there were.
    func trim(toCost limit: Int) {
        removeExpired()
        evict(.costLimit, atMost: room.count) { room.exceeds(byteCount: limit) }
    }

    private func evict(_ cause: RemovalCause, atMost most: Int = .max, while isTooMuch: () -> Bool) {
        var backoff = Backoff()
        var left = most
        while left > 0, isTooMuch() {
            if let freed = evictOne(sparing: nil, cause) {
                left -= 1
                maintainAfterRemoval(of: freed)
            } else {
                // Nothing is left to evict: others are about to give back what they have drawn.
                backoff.pause()
            }
            // One at a time: copies of all that leaves could be more than ordinary memory has room for.
            tellRemovals()
        }
    }

    /// Evicts the next entry in turn that was not used since the last round, and answers the bytes that it took; nil if
    /// there is none to evict.
    ///
    /// The hands of all shards advance by turns, so that together they are one CLOCK over the whole cache: keys are
    /// spread evenly by their hash. A freed slot is the first to be used again, just behind the hand, so that within a
    /// shard the order of slots is the order of insertion.
    ///
    /// - Parameter spared: an entry that stays, by its hash and where its value is: others may have the same hash.
    func evictOne(sparing spared: (hash: IndexHash, location: LogLocation)?, _ cause: RemovalCause) -> Int? {
        let mask = shardMask.load(ordering: .acquiring)
        // In the gate until all is settled: a location outside of it may be that of a later item.
        let pass = log.gate.enter(0)
        var freed: Int?
        // A round to find every shard empty, or everything referenced; a second that finds the marks cleared.
        for _ in 0..<2 * (mask + 1) {
            let shard = evictionShard.wrappingAdd(1, ordering: .relaxed).newValue & mask
            var departures = PurgeableDepartures()
            let isSparse = locked(shard: shard) { state in
                if state.index.count > 0 { advanceHand(&state, shard, sparing: spared, &departures) }
                return state.isSparse
            }
            let (count, bytes) = (departures.count, departures.bytesInSegments)
            settle(&departures, cause)
            if isSparse { shrink(shard) }
            if count > 0 {
                freed = bytes
                break
            }
        }
        log.gate.leave(pass)
        return freed
    }

    private func advanceHand(
        _ state: inout PurgeableShard.State,
        _ shard: Int,
        sparing spared: (hash: IndexHash, location: LogLocation)?,
        _ departures: inout PurgeableDepartures
    ) {
        for _ in 0..<2 * state.index.slotCount {
            if state.hand >= state.index.slotCount { state.hand = 0 }
            let slot = state.hand
            state.hand += 1
            let entry = state.index[slot]
            let location = LogLocation(word: entry.pointee.location)
            guard location.word != 0 else { continue }
            let hash = hash(entry.pointee.word)
            if !location.isLarge, log.isStale(location) {
                take(slot, hash, &state, shard, &departures)
                continue
            }
            if location.isReferenced {
                entry.pointee.location = location.unreferenced.word
                continue
            }
            if let spared, hash == spared.hash, location.word == spared.location.word { continue }
            take(slot, hash, &state, shard, &departures)
            if departures.count > 0 { return }
        }
    }
}
