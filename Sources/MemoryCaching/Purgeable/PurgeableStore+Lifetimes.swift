//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

// Lifetimes of values, and how entries go whose lifetime is over.
extension PurgeableStore {
    /// Takes out an entry whose lifetime is over, as a lookup has found, unless it is kept as a fallback; the caller is
    /// inside the gate.
    func dropExpired(_ hash: IndexHash, _ matching: KeyMatching, now: Int64) {
        drop(hash, matching, dueBy: lifetimes.fallbackEnd(at: now))
    }

    /// Takes out an entry whose deadline is not after `end`.
    func drop(_ hash: IndexHash, _ matching: KeyMatching, dueBy end: Int64) {
        var departures = PurgeableDepartures()
        withEntry(hash, matching) { state, shard, slot in
            guard let slot, state.deadline(of: slot).next <= end else { return }
            take(slot, hash, &state, shard, &departures)
        }
        settle(&departures, .expired)
    }

    /// Takes some expired entries out of the shard that an insertion goes to.
    func removeSomeExpired(_ hash: IndexHash, now: Int64) {
        // A handler that sets values which expire at once would else call itself without end.
        if UserCode.isRunning { return }
        let shard = hash.shard(mask: shardMask.load(ordering: .acquiring))
        _ = removeSomeExpired(shard, now: lifetimes.fallbackEnd(at: now))
    }

    /// Removes entries whose lifetime is over, and that are kept no longer.
    func removeExpired() {
        guard lifetimes.areUsed else { return }
        let now = lifetimes.fallbackEnd(at: lifetimes.clock.nanoseconds())
        // Handlers are told after each piece, because what they are told of is in ordinary memory. A handler that asks
        // for the count sweeps, too, and is told after the last piece: else it would call itself as many levels deep as
        // there are pieces.
        let tellsAtEnd = UserCode.isRunning
        sweepByTurns { shard, isFirst in
            guard shard < Self.shardCount else { return nil }
            if isFirst { locked(shard: shard) { state -> Void in state.wheel?.restart() } }
            let piece = removeSomeExpired(shard, now: now)
            if !tellsAtEnd { tellRemovals() }
            return piece
        }
        tellRemovals()
    }

    /// Takes up to ``SweptPiece/mostEntries`` expired entries out of a shard.
    private func removeSomeExpired(_ shard: Int, now: Int64) -> SweptPiece {
        let pass = log.gate.enter(shard)
        var departures = PurgeableDepartures()
        let piece = locked(shard: shard) { state in
            var piece = SweptPiece(held: state.index.count, removed: 0, isDone: state.wheel == nil)
            var steps = SweptPiece.mostEntries
            while !piece.isDone, piece.removed < SweptPiece.mostEntries {
                let due = state.wheel!.firstDue(at: now, steps: &steps)
                if due == 0 {
                    piece.isDone = steps > 0
                    break
                }
                let slot = Int(due) - 1
                take(slot, hash(state.index[slot].pointee.word), &state, shard, &departures)
                piece.removed += 1
            }
            return piece
        }
        let bytes = departures.bytesInSegments
        settle(&departures, .expired)
        log.gate.leave(pass)
        maintainAfterRemoval(of: bytes)
        return piece
    }

    /// When the lifetime of the key's value is over; nil where there is none. No use of it.
    func deadline(_ matching: KeyMatching) -> EntryDeadline? {
        let hash = hash(matching)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let deadline = withEntry(hash, matching) { state, _, slot in slot.map { state.deadline(of: $0) } }
        log.gate.leave(pass)
        return deadline
    }

    /// Notes that a refresh of the key's value has failed, if it still has this last deadline.
    func noteFailedRefresh(_ matching: KeyMatching, deadline: Int64) {
        let hash = hash(matching)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        withEntry(hash, matching) { state, _, slot in
            guard let slot, state.deadline(of: slot).last == deadline else { return }
            state.wheel?.setRefreshTried(true, of: UInt32(slot + 1))
        }
        log.gate.leave(pass)
    }
}
