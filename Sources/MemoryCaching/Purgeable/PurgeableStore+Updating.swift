//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

// On what terms a value is stored, and what an update sees before.
extension PurgeableStore {
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

    @inline(__always)
    func terms(expiresAfter lifetime: Duration?, if condition: Condition?) -> Terms {
        let beginning = lifetimes.beginning(lifetime)
        return Terms(now: beginning.now, deadline: beginning.deadline ?? .never, condition: condition)
    }

    /// Whether `condition` holds of the entry in `slot`, or of none; the shard is locked.
    func holds(_ condition: Condition, _ slot: Int?, _ state: borrowing PurgeableShard.State) -> Bool {
        switch condition {
        case .ticket(let ticket): ticket.admits(over: slot.map { state.deadline(of: $0).last })
        case .unchanged(let location, let sealed):
            // A segment is refilled after it has been sealed: after too many seals the location may be that of a later
            // value. Four fewer than there are generations: some numbers are left out, and the first seal may have been
            // before. A large value has a number that does not come again.
            if let slot, let location {
                state.holds(location, in: slot)
                    && (location.isLarge || log.sealedSegments &- sealed < LogLocation.generationCount - 4)
            } else {
                slot == nil && location == nil
            }
        }
    }

    /// Takes out an entry that is there as a fallback alone.
    func removeFallback(_ matching: KeyMatching) {
        let hash = hash(matching)
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        drop(hash, matching, dueBy: lifetimes.clock.nanoseconds())
        log.gate.leave(pass)
    }

    /// What an update begins with: the bytes, no use of them, and what must be so when it ends. Bytes that the kernel
    /// has taken count as none.
    ///
    /// - Parameter countsFallback: whether an expired entry counts that is kept.
    func sight(
        _ matching: KeyMatching,
        countsFallback: Bool
    ) -> (bytes: [UInt8]?, condition: Condition) {
        let hash = hash(matching)
        let sealedSegments = log.sealedSegments
        let pass = log.gate.enter(hash.shard(mask: Self.shardCount - 1))
        let now = countsFallback ? lifetimes.fallbackEnd(at: lifetimes.now) : lifetimes.now
        var bytes: [UInt8]?
        var place: LogLocation?
        while true {
            let found = withEntry(hash, matching) { state, _, slot -> Found in
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
