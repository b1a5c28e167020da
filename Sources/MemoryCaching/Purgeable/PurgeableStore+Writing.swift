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
    ///
    /// - Parameters:
    ///   - lifetime: how long it stays at most; nil for ever.
    ///   - condition: what must be so under the lock that it is stored under; otherwise nothing happens.
    @inline(__always)
    func set(
        _ bytes: UnsafeRawBufferPointer,
        _ matching: KeyMatching,
        expiresAfter lifetime: Duration? = nil,
        if condition: Condition? = nil
    ) -> InsertionOutcome {
        let hash = hash(matching)
        let terms = terms(expiresAfter: lifetime, if: condition)
        if terms.now != .min { removeSomeExpired(hash, now: terms.now) }
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        var isStep = false
        var needsCredit = false
        var outcome = InsertionOutcome.refused
        if isTooLarge(bytes.count) {
            outcome = refuse(hash, matching, terms)
        } else if bytes.count > LogLocation.maximumByteCount {
            isStep = true
            if let value = PurgeableBytes(pagesFor: bytes, pool: pool) {
                largeBytes.wrappingAdd(bytes.count, ordering: .relaxed)
                largeInserted.wrappingAdd(bytes.count, ordering: .relaxed)
                outcome = publish(nil, value, byteCount: bytes.count, hash, matching, terms, &needsCredit)
                if outcome != .stored { largeBytes.wrappingSubtract(bytes.count, ordering: .relaxed) }
            } else {
                needsCredit = true
            }
            if outcome == .refused { outcome = refuse(hash, matching, terms) }
        } else if let reservation = log.reserve(byteCount: bytes.count, stream: stream(for: hash)) {
            isStep = reservation.isStep
            log.write(bytes, hash48: hash.hash48, at: reservation)
            outcome = publish(reservation.location, nil, byteCount: bytes.count, hash, matching, terms, &needsCredit)
            if outcome != .stored { _ = log.forget(reservation.location) }
            if outcome == .refused { outcome = refuse(hash, matching, terms) }
            log.close(reservation)
        } else {
            outcome = refuse(hash, matching, terms)
            needsCredit = true
        }
        log.gate.leave(pass)
        // Outside of the gate: the pages of what is evicted are given back when all have left that were inside. Also where
        // the system has no memory, so that it has some for the next.
        if needsCredit { renewCredit(hash) }
        if isStep { maintainAfterStep() }
        tellRemovals()
        return outcome
    }

    private func isTooLarge(_ byteCount: Int) -> Bool {
        let limit = room.totalCostLimit
        return limit > 0 && byteCount > limit
    }

    /// What came of an attempt to publish.
    private enum Attempt: Sendable {
        case published(needsSplit: Bool, needsCredit: Bool)
        /// A limit is reached: nothing is drawn. Where the key has a value, it is there.
        case lacksRoom(RemovalCause, own: LogLocation?)
        /// What the key had went with its segment just now: nothing is drawn.
        case changed
        /// The shard's index has no slot left, or the key may have an entry already: nothing is drawn.
        case impossible
        /// The condition does not hold: nothing is drawn.
        case unwanted
    }

    /// Draws room for a value, evicting where there is none, and publishes it; false if it cannot be kept.
    ///
    /// Room is drawn in the critical section that publishes. So keys are compared, others evicted and threads waited
    /// for with nothing in hand.
    @inline(__always)
    private func publish(
        _ location: LogLocation?,
        _ large: PurgeableBytes?,
        byteCount: Int,
        _ hash: IndexHash,
        _ matching: KeyMatching,
        _ terms: Terms,
        _ needsCredit: inout Bool
    ) -> InsertionOutcome {
        let serial = large == nil ? 0 : largeSerial.wrappingAdd(1, ordering: .relaxed).newValue
        var backoff = Backoff()
        while true {
            var replaced = PurgeableDepartures()
            var expired = PurgeableDepartures()
            let attempt = withEntry(hash, matching) { state, shard, slot -> Attempt in
                let isOver = isOver(slot, state, terms)
                // First: where it does not hold, an expired entry stays as the fallback that it may be.
                if let condition = terms.condition, !holds(condition, isOver ? nil : slot, state) { return .unwanted }
                if let slot, !isOver {
                    return exchange(slot, location, large, serial, byteCount, hash, &state, shard, &replaced, terms)
                }
                if let slot { take(slot, hash, &state, shard, &expired) }
                return insert(location, large, serial, byteCount, hash, &state, shard, matching, terms)
            }
            settle(&expired, .expired)
            settle(&replaced, .replaced)
            switch attempt {
            case .published(let needsSplit, let isSpent):
                if needsSplit { split() }
                needsCredit = isSpent
                return .stored
            case .changed: continue
            case .impossible: return .refused
            case .unwanted: return .changed
            case .lacksRoom(let cause, let own):
                if isTooLarge(byteCount) { return .refused }
                // The key's own value last: readers find it until it is replaced.
                if evictOne(sparing: own.map { (hash, $0) }, cause) == nil, evictOne(sparing: nil, cause) == nil {
                    backoff.pause()
                }
            }
        }
    }

    /// Whether the lifetime of the entry at `slot` is over. It may still be there as a fallback.
    @inline(__always)
    private func isOver(_ slot: Int?, _ state: borrowing PurgeableShard.State, _ terms: Terms) -> Bool {
        guard let slot, terms.now != .min else { return false }
        return state.deadline(of: slot).next <= terms.now
    }

    /// Puts a value in the place of the key's old one, whose room it takes over.
    private func exchange(
        _ slot: Int,
        _ location: LogLocation?,
        _ large: PurgeableBytes?,
        _ serial: UInt64,
        _ byteCount: Int,
        _ hash: IndexHash,
        _ state: inout PurgeableShard.State,
        _ shard: Int,
        _ replaced: inout PurgeableDepartures,
        _ terms: Terms
    ) -> Attempt {
        let old = LogLocation(word: state.index[slot].pointee.location)
        let more = max(0, byteCount - state.byteCount(old))
        if let cause = room.draw(isNew: false, byteCount: more) { return .lacksRoom(cause, own: old.unreferenced) }
        note(slot, old, hash, state, shard, &replaced)
        guard let oldBytes = release(old, &state, &replaced) else {
            room.giveBack(count: 0, byteCount: more)
            keys?.moveOut(shard: shard, slot: slot, into: &replaced.keys)
            state.remove(slot, hash)
            return .changed
        }
        room.giveBack(count: 0, byteCount: more + oldBytes - byteCount)
        let place = large.map { state.keep($0, serial: serial, slot: slot) } ?? location!
        state.index[slot].pointee.location = place.word
        state.schedule(slot, terms.deadline)
        state.insertions &+= 1
        let needsCredit = chargeReplacement(hash, &state, valueBytes: byteCount)
        return .published(needsSplit: false, needsCredit: needsCredit)
    }

    private func insert(
        _ location: LogLocation?,
        _ large: PurgeableBytes?,
        _ serial: UInt64,
        _ byteCount: Int,
        _ hash: IndexHash,
        _ state: inout PurgeableShard.State,
        _ shard: Int,
        _ matching: KeyMatching,
        _ terms: Terms
    ) -> Attempt {
        if matching.hasGivenUp { return .impossible }
        if let cause = room.draw(isNew: true, byteCount: byteCount) { return .lacksRoom(cause, own: nil) }
        let first = location?.word ?? LogLocation(largeAt: 0, serial: 0).word
        guard let slot = state.index.insert(hash, word: matching.word, location: first, seed: seed) else {
            room.giveBack(count: 1, byteCount: byteCount)
            return .impossible
        }
        if let large { state.index[slot].pointee.location = state.keep(large, serial: serial, slot: slot).word }
        matching.store(shard: shard, slot: slot)
        state.schedule(slot, terms.deadline)
        publishTable(of: state, shard)
        state.insertions &+= 1
        let isCrowded = shard == 0 && state.index.count > Self.splitCount
        return .published(
            needsSplit: isCrowded && shardMask.load(ordering: .relaxed) == 0,
            needsCredit: charge(slot, hash, &state, keyBytes: matching.keyBytes, valueBytes: byteCount)
        )
    }

    /// The stream for a new item: what left a short while ago and is back already is expected to stay.
    @inline(__always)
    private func stream(for hash: IndexHash) -> Int {
        guard remembersGhosts.load(ordering: .relaxed) else { return SegmentPolicy.probation }
        let isBack = locked(hash) { state, _ in state.ghosts?.take(hash) ?? false }
        return isBack ? SegmentPolicy.main : SegmentPolicy.probation
    }

    private func refuse(
        _ hash: IndexHash,
        _ matching: KeyMatching,
        _ terms: Terms
    ) -> InsertionOutcome {
        var departures = PurgeableDepartures()
        var isOver = false
        let isWanted = withEntry(hash, matching) { state, shard, slot in
            isOver = self.isOver(slot, state, terms)
            if let condition = terms.condition, !holds(condition, isOver ? nil : slot, state) { return false }
            if let slot { take(slot, hash, &state, shard, &departures) }
            return true
        }
        settle(&departures, isOver ? .expired : .replaced)
        guard isWanted else { return .changed }
        counters.refused()
        return .refused
    }
}
