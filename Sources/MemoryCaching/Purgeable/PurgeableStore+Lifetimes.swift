//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

// Lifetimes of values, and what an insertion may depend on.
extension PurgeableStore {
    /// Entries that have expired and that one insertion takes out beside its own work.
    static let mostSwept = 32

    /// What must be so at the moment a value is stored.
    enum Condition: Sendable {
        /// What a load shows: nothing has changed the key since the load began.
        case ticket(LoadTicket)
        /// What an update shows: the entry points where it did when so many segments had been sealed, or there is still
        /// none (nil).
        case unchanged(LogLocation?, sealedSegments: Int)
    }

    /// On what terms a value is stored: all that is found out before any lock is taken.
    struct Terms: Sendable {
        /// The present moment; the smallest where the cache knows no lifetimes.
        var now: Int64
        var deadline: EntryDeadline
        var condition: Condition?
    }

    /// The present moment; the smallest where the cache knows no lifetimes.
    @inline(__always)
    var now: Int64 { usesLifetimes.load(ordering: .relaxed) ? clock.nanoseconds() : .min }

    /// The deadline up to which entries leave the cache at `now`. It lies behind `now` where expired entries are kept
    /// as fallbacks.
    @inline(__always)
    func fallbackEnd(at now: Int64) -> Int64 { EntryDeadline.before(now, by: fallbackLifetime) }

    @inline(__always)
    func terms(expiresAfter lifetime: Duration?, if condition: Condition?) -> Terms {
        guard lifetime != nil || idleLifetime != .max else {
            return Terms(now: now, deadline: .never, condition: condition)
        }
        let now = clock.nanoseconds()
        usesLifetimes.store(true, ordering: .relaxed)
        let deadline = EntryDeadline(now: now, lifetime: lifetime, idleLifetime: idleLifetime)
        return Terms(now: now, deadline: deadline, condition: condition)
    }

    /// Whether `condition` holds of the entry in `slot`, or of none; the shard is locked.
    func holds(_ condition: Condition, _ slot: Int?, _ state: borrowing PurgeableShard.State) -> Bool {
        switch condition {
        case .ticket(let ticket): ticket.admits(over: slot.map { state.deadline(of: $0).last })
        case .unchanged(let location, let sealed):
            // A segment is refilled after it has been sealed: after too many seals the location may be that of a later
            // value.
            if let slot, let location {
                state.holds(location, in: slot) && log.sealedSegments &- sealed < LogLocation.generationCount
            } else {
                slot == nil && location == nil
            }
        }
    }

    /// Takes out an entry whose lifetime is over, as a lookup has found, unless it is kept as a fallback; the caller is
    /// inside the gate.
    func dropExpired<M: KeyMatching>(_ hash: IndexHash, _ word: UInt64, _ matching: inout M, now: Int64) {
        drop(hash, word, &matching, dueBy: fallbackEnd(at: now))
    }

    /// Takes out an entry that is there as a fallback alone.
    func removeFallback<M: KeyMatching>(word: UInt64, matching: consuming M) {
        let hash = hash(word)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        drop(hash, word, &matching, dueBy: clock.nanoseconds())
        log.gate.leave(pass)
    }

    /// Takes out an entry whose deadline is not after `end`.
    private func drop<M: KeyMatching>(_ hash: IndexHash, _ word: UInt64, _ matching: inout M, dueBy end: Int64) {
        var departures = PurgeableDepartures()
        withEntry(hash, word, &matching) { state, shard, slot, _ in
            guard let slot, state.deadline(of: slot).next <= end else { return }
            take(slot, hash, &state, shard, &departures)
        }
        settle(&departures, .expired)
    }

    /// Takes some expired entries out of the shard that an insertion goes to.
    func removeSomeExpired(_ hash: IndexHash, now: Int64) {
        // A handler that sets values which expire at once would else call itself without end.
        if UserCode.isRunning { return }
        _ = removeSomeExpired(hash.shard(mask: shardMask.load(ordering: .acquiring)), now: fallbackEnd(at: now))
    }

    /// Removes entries whose lifetime is over, and that are kept no longer.
    func removeExpired() {
        guard usesLifetimes.load(ordering: .relaxed) else { return }
        let now = fallbackEnd(at: clock.nanoseconds())
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

    /// Takes up to ``mostSwept`` expired entries out of a shard.
    private func removeSomeExpired(_ shard: Int, now: Int64) -> SweptPiece {
        let pass = log.gate.enter(shard)
        var departures = PurgeableDepartures()
        let piece = locked(shard: shard) { state in
            var piece = SweptPiece(held: state.index.count, removed: 0, isDone: state.wheel == nil)
            var steps = Self.mostSwept
            while !piece.isDone, piece.removed < Self.mostSwept {
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
        settle(&departures, .expired)
        log.gate.leave(pass)
        return piece
    }

    /// When the lifetime of the key's value is over; nil where there is none. No use of it.
    func deadline<M: KeyMatching>(word: UInt64, matching: consuming M) -> EntryDeadline? {
        withEntry(hash(word), word, &matching) { state, _, slot, _ in slot.map { state.deadline(of: $0) } }
    }

    /// Notes that a refresh of the key's value has failed, if it still has this last deadline.
    func noteFailedRefresh<M: KeyMatching>(word: UInt64, matching: consuming M, deadline: Int64) {
        withEntry(hash(word), word, &matching) { state, _, slot, _ in
            guard let slot, state.deadline(of: slot).last == deadline else { return }
            state.wheel?.setRefreshTried(true, of: UInt32(slot + 1))
        }
    }

    /// What an update begins with: the bytes, no use of them, and what must be so when it ends. Bytes that the kernel
    /// has taken count as none.
    ///
    /// - Parameter countsFallback: whether an expired entry counts that is kept.
    func sight<M: KeyMatching>(
        word: UInt64,
        matching: consuming M,
        countsFallback: Bool
    ) -> (bytes: [UInt8]?, condition: Condition) {
        let hash = hash(word)
        let sealedSegments = log.sealedSegments
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = countsFallback ? fallbackEnd(at: self.now) : self.now
        var bytes: [UInt8]?
        var place: LogLocation?
        while true {
            let found = withEntry(hash, word, &matching) { state, _, slot, _ -> Found in
                guard let slot, now == .min || state.deadline(of: slot).next > now else { return Found() }
                let location = LogLocation(word: state.index[slot].pointee.location).unreferenced
                return Found(
                    location: location,
                    large: location.isLarge ? state.large[location.largePlace]?.value : nil
                )
            }
            // Lost in one place, it may have been moved to another: then it is looked for again.
            let isSame = place == found.location
            place = found.location
            guard let location = place, !isSame else { break }
            bytes = found.large.map { $0.copyBytes() } ?? copy(location, hash)
            if bytes != nil { break }
        }
        log.gate.leave(pass)
        return (bytes, .unchanged(place, sealedSegments: sealedSegments))
    }
}
