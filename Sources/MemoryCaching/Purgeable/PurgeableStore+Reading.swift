//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

// Reading: an entry is found under its shard's lock, its bytes are copied after unlocking and checked afterwards.
extension PurgeableStore {
    /// What an entry points to.
    struct Found: Sendable {
        var location: LogLocation?
        var large: PurgeableBytes?
        /// Whether it is time to look at the clock.
        var isTick = false
        /// Whether there is an entry whose lifetime is over.
        var isExpired = false
    }

    @inline(__always)
    func find(_ hash: IndexHash, _ matching: KeyMatching, now: Int64) -> Found {
        withEntry(hash, matching) { state, _, slot in
            state.operations &+= 1
            let isTick = state.operations & (PurgeableMaintenance.operationsBetween - 1) == 0
            guard let slot else {
                state.lookups.misses &+= 1
                return Found(isTick: isTick)
            }
            if let wheel = state.wheel {
                if wheel.deadline(of: UInt32(slot + 1)) <= now {
                    state.lookups.misses &+= 1
                    return Found(isTick: isTick, isExpired: true)
                }
                lifetimes.noteUse(of: UInt32(slot + 1), in: wheel, at: now)
            }
            state.lookups.hits &+= 1
            let entry = state.index[slot]
            let location = LogLocation(word: entry.pointee.location)
            // A hit marks its entry once for each round of the hand, so that hot lines stay clean.
            if !location.isReferenced { entry.pointee.location |= LogLocation.referencedBit }
            if location.isLarge {
                return Found(location: location, large: state.large[location.largePlace]?.value, isTick: isTick)
            }
            log.prefetch(location)
            return Found(location: location, isTick: isTick)
        }
    }

    @inline(__always)
    func bytes(_ matching: KeyMatching) -> [UInt8]? {
        let hash = hash(matching)
        let shard = hash.shard(mask: shardMask.load(ordering: .relaxed))
        tablePlace(shard).prefetch { hash.place(capacity: $0) }
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = lifetimes.now
        var isTick = false
        var bytes: [UInt8]?
        while true {
            let found = find(hash, matching, now: now)
            isTick = isTick || found.isTick
            guard let location = found.location else {
                if found.isExpired { dropExpired(hash, matching, now: now) }
                break
            }
            bytes = found.large.map { $0.copyBytes() } ?? copy(location, hash)
            if bytes != nil || !dropLost(hash, matching, location) { break }
        }
        leave(pass, isTick: isTick)
        return bytes
    }

    /// A copy of an item of the log, if it is still there. The caller is inside the gate.
    @inline(__always)
    func copy(_ location: LogLocation, _ hash: IndexHash) -> [UInt8]? {
        var result = SegmentLog.ReadResult.stale
        // Room for a byte at least: an array of none has no address, and its count is stored in what all such share.
        let bytes = [UInt8](unsafeUninitializedCapacity: max(1, location.byteCount)) { buffer, count in
            result = log.read(location, hash48: hash.hash48, into: UnsafeMutableRawPointer(buffer.baseAddress!))
            count = result == .copied ? location.byteCount : 0
        }
        return result == .copied ? bytes : nil
    }

    /// Lends the bytes to `body`, if there are any: large values are held in place, others copied.
    func lend(_ matching: KeyMatching, to body: (RawSpan) -> Void) {
        let hash = hash(matching)
        var pass = Optional(log.gate.enter(hash.shard(mask: Self.shardCount - 1)))
        let now = lifetimes.now
        var found = find(hash, matching, now: now)
        while let location = found.location, found.large == nil {
            // No array: to make one takes a third of the time of a short value's hit.
            let isLent = withUnsafeTemporaryAllocation(byteCount: max(1, location.byteCount), alignment: 8) { buffer in
                let address = buffer.baseAddress!
                guard log.read(location, hash48: hash.hash48, into: address) == .copied else { return false }
                leave(pass.take()!, isTick: found.isTick)
                body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: address, count: location.byteCount)))
                return true
            }
            if isLent { return }
            if !dropLost(hash, matching, location) { break }
            found = find(hash, matching, now: now)
        }
        if found.isExpired { dropExpired(hash, matching, now: now) }
        leave(pass.take()!, isTick: found.isTick)
        guard let large = found.large, let location = found.location else { return }
        if large.withBytes(body) != nil { return }
        let again = log.gate.enter(0)
        _ = dropLost(hash, matching, location)
        log.gate.leave(again)
    }

    /// Ends a lookup: before the bytes are lent, because user code could hold the gate open for ever.
    @inline(__always)
    private func leave(_ pass: consuming ReaderGate.Pass, isTick: Bool) {
        log.gate.leave(pass)
        if isTick { maintainIfSecondPassed() }
        tellRemovals()
    }

    /// Removes the entry that a read found lost, and counts the hit as a miss. True where the key has another value by
    /// now, or its bytes have been moved: then nothing is lost, and the hit is not counted, because the caller looks
    /// again.
    func dropLost(
        _ hash: IndexHash,
        _ matching: KeyMatching,
        _ location: LogLocation
    ) -> Bool {
        var departures = PurgeableDepartures()
        let isElsewhere = withEntry(hash, matching) { state, shard, slot in
            state.lookups.hits &-= 1
            if let slot {
                if !state.holds(location, in: slot) { return true }
                take(slot, hash, &state, shard, &departures)
            }
            state.lookups.misses &+= 1
            return false
        }
        settle(&departures, .discarded)
        return isElsewhere
    }

    @inline(__always)
    func contains(_ matching: KeyMatching) -> Bool {
        let hash = hash(matching)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = lifetimes.now
        var isThere = false
        var place: LogLocation?
        while true {
            let found = withEntry(hash, matching) { state, _, slot in
                guard let slot, !(state.wheel?.deadline(of: UInt32(slot + 1)) ?? .max <= now) else { return Found() }
                let location = LogLocation(word: state.index[slot].pointee.location)
                return Found(
                    location: location.unreferenced,
                    large: location.isLarge ? state.large[location.largePlace]?.value : nil
                )
            }
            // Lost in one place, it may have been moved to another: then it is looked for again.
            guard let location = found.location, location != place else { break }
            place = location
            isThere = if let large = found.large { !large.isContentDiscarded } else { !log.isLost(location) }
            if isThere { break }
        }
        log.gate.leave(pass)
        return isThere
    }
}
