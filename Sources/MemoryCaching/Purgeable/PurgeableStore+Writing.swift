//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// Stores a copy of `bytes`. What was stored for the key goes in any case: a value that cannot be kept leaves no
    /// older one behind.
    @inline(__always)
    func set<M: KeyMatching>(_ bytes: UnsafeRawBufferPointer, word: UInt64, matching: consuming M) {
        let hash = hash(word)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let limit = costLimitValue.load(ordering: .relaxed)
        if limit > 0, bytes.count > limit {
            refuse(hash, word, &matching)
        } else if bytes.count > LogLocation.maximumByteCount {
            if let value = LargeValue(bytes, pool: pool) {
                largeBytes.wrappingAdd(bytes.count, ordering: .relaxed)
                largeInserted.wrappingAdd(bytes.count, ordering: .relaxed)
                publish(nil, value, byteCount: bytes.count, hash, word, &matching)
            } else {
                refuse(hash, word, &matching)
            }
        } else if let reservation = log.reserve(byteCount: bytes.count, stream: stream(for: hash)) {
            log.write(bytes, hash48: hash.hash48, at: reservation)
            publish(reservation.location, nil, byteCount: bytes.count, hash, word, &matching)
            log.close(reservation)
        } else {
            refuse(hash, word, &matching)
        }
        log.gate.leave(pass)
        enforceLimits(sparing: hash)
        maintainIfDue()
    }

    @inline(__always)
    private func publish<M: KeyMatching>(
        _ location: LogLocation?,
        _ large: LargeValue?,
        byteCount: Int,
        _ hash: IndexHash,
        _ word: UInt64,
        _ matching: inout M
    ) {
        let serial = large == nil ? 0 : largeSerial.wrappingAdd(1, ordering: .relaxed).newValue
        var replaced = Departures()
        // Counted before it is published, so that a removal by another thread never finds less than it takes away.
        account(count: 1, bytes: byteCount)
        let (isFull, needsSplit, needsCredit) = withEntry(hash, word, &matching) { state, shard, slot, matching in
            state.insertions &+= 1
            state.operations &+= 1
            if let slot {
                let old = LogLocation(word: state.index[slot].pointee.location)
                let place = large.map { state.keep($0, serial: serial, slot: slot) } ?? location!
                state.index[slot].pointee.location = place.word
                if let value = state.release(old) { replaced.large.append(value) }
                replaced.locations.append(old)
                return (false, false, false)
            }
            let first = location?.word ?? LogLocation(largeAt: 0, serial: 0).word
            guard let slot = state.index.insert(hash, word: word, location: first, seed: seed) else {
                if let location { replaced.locations.append(location) }
                return (true, false, false)
            }
            if let large { state.index[slot].pointee.location = state.keep(large, serial: serial, slot: slot).word }
            matching.store(shard: shard, slot: slot)
            shards[shard].hint.update(state.index)
            let isCrowded = shard == 0 && state.index.count > Self.splitCount
            // Only the index is ordinary memory: growth is charged by the chunk, entries in freed slots cost nothing.
            let isNewChunk = slot & (PurgeableIndex.chunkSize - 1) == 0 && slot + 1 == state.index.slotCount
            let isSpent = isNewChunk && state.credit.spend(Self.bytesPerChunk)
            return (false, isCrowded && shardMask.load(ordering: .relaxed) == 0, isSpent)
        }
        if isFull {
            counters.refused()
            if let large { replaced.large.append(large) }
        }
        if !replaced.isEmpty { settle(&replaced, .replaced) }
        if needsSplit { split() }
        if needsCredit { renewCredit(hash) }
    }

    /// The stream for a new item: what left a short while ago and is back already is expected to stay.
    @inline(__always)
    private func stream(for hash: IndexHash) -> Int {
        guard remembersGhosts.load(ordering: .relaxed) else { return SegmentPolicy.probation }
        let isBack = locked(hash) { state, _ in state.ghosts?.take(hash) ?? false }
        return isBack ? SegmentPolicy.main : SegmentPolicy.probation
    }

    private func refuse<M: KeyMatching>(_ hash: IndexHash, _ word: UInt64, _ matching: inout M) {
        counters.refused()
        var departures = Departures()
        withEntry(hash, word, &matching) { state, shard, slot, _ in
            if let slot { take(slot, hash, &state, shard, &departures) }
        }
        settle(&departures, .replaced)
    }
}
