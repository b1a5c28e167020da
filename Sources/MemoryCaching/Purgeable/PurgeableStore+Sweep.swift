//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// What a sweep does with the entries of a segment.
    private enum Cleaning: UInt8 { case leave, promote, compact }

    /// An entry whose bytes are to be moved.
    private struct Move {
        let slot: Int
        let hash: IndexHash
        let location: LogLocation
    }

    /// Goes over the whole index once: drops entries of items that are lost, and moves what is to be kept of the given
    /// segments before these are emptied.
    ///
    /// O(entries), some 3 ns each; no page is touched but those of items that move. A lock is held for a thousand
    /// entries at a time.
    func sweep(promoting: [Int], compacting: [Int]) {
        let started = log.sweepStarts()
        var cleaning = [Cleaning](repeating: .leave, count: (promoting + compacting).reduce(0) { max($0, $1 + 1) })
        for number in compacting { cleaning[number] = .compact }
        for number in promoting { cleaning[number] = .promote }
        let pass = log.gate.enter(0)
        for shard in 0..<Self.shardCount {
            var from = 0
            while let next = sweepSome(shard, from: from, cleaning) { from = next }
        }
        log.gate.leave(pass)
        // What is left in them was added to the index after the sweep had passed, or could not be moved.
        for number in promoting + compacting { empty(number, .discarded) }
        log.sweepFinished(started)
    }

    private func sweepSome(_ shard: Int, from: Int, _ cleaning: [Cleaning]) -> Int? {
        var lost = Departures()
        var unread = Departures()
        var moves: [Move] = []
        let next: Int? = shards[shard].lock.withLock { _ in
            let end = min(from + 1024, shards[shard].state.index.slotCount)
            if from >= end { return nil }
            for slot in from..<end {
                let entry = shards[shard].state.index[slot].pointee
                let location = LogLocation(word: entry.location)
                if location.word == 0 || location.isLarge { continue }
                let hash = hash(entry.word)
                if log.isStale(location) || log.isKnownLost(location) {
                    take(slot, hash, &shards[shard].state, shard, &lost)
                    shards[shard].state.ghosts?.insert(hash)
                    continue
                }
                switch location.segment < cleaning.count ? cleaning[location.segment] : .leave {
                case .leave: break
                case .promote where !location.isReferenced:
                    take(slot, hash, &shards[shard].state, shard, &unread)
                    shards[shard].state.ghosts?.insert(hash)
                case .promote, .compact: moves.append(Move(slot: slot, hash: hash, location: location))
                }
            }
            return end
        }
        settle(&lost, .discarded)
        settle(&unread, .memoryPressure)
        // A small batch at a time: each holds its segment open.
        for start in stride(from: 0, to: moves.count, by: 64) {
            move(moves[start..<min(start + 64, moves.count)], shard)
        }
        return next
    }

    /// Copies items to the main stream and points their entries there.
    private func move(_ moves: ArraySlice<Move>, _ shard: Int) {
        var copies: [(move: Move, reservation: SegmentLog.Reservation)] = []
        withUnsafeTemporaryAllocation(byteCount: LogLocation.maximumByteCount, alignment: 16) { buffer in
            for move in moves {
                let count = move.location.byteCount
                guard log.read(move.location, hash48: move.hash.hash48, into: buffer.baseAddress!) == .copied,
                    let reservation = log.reserve(byteCount: count, stream: SegmentPolicy.main)
                else { continue }
                log.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), hash48: move.hash.hash48, at: reservation)
                copies.append((move, reservation))
            }
        }
        var left: [LogLocation] = []
        shards[shard].lock.withLock { _ in
            for (move, reservation) in copies {
                // Replaced or removed meanwhile: then the copy is what nobody wants.
                let isSame = shards[shard].state.holds(move.location, in: move.slot)
                if isSame { shards[shard].state.index[move.slot].pointee.location = reservation.location.word }
                left.append(isSame ? move.location : reservation.location)
            }
        }
        for location in left where !log.forget(location) {
            // Emptied meanwhile, and counted as lost with its segment; but the copy lives.
            account(count: 1, bytes: location.byteCount)
            staleCount.wrappingSubtract(1, ordering: .relaxed)
        }
        for (_, reservation) in copies { log.close(reservation) }
    }

    /// Makes room for ghosts where there is none yet, or too little: as many as there are entries.
    func rememberGhosts() {
        for shard in 0..<Self.shardCount {
            shards[shard].lock.withLock { _ in
                let count = shards[shard].state.index.count
                guard (shards[shard].state.ghosts?.capacity ?? 0) < count * 7 / 10 else { return }
                shards[shard].state.ghosts = RecentDepartures(count: count)
            }
        }
        remembersGhosts.store(true, ordering: .relaxed)
    }
}
