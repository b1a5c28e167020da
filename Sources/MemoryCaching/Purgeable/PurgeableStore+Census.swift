//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure
internal import Synchronization

extension PurgeableStore {
    /// Bytes inserted so far, in steps of a segment.
    var insertedBytes: Int {
        log.sealedSegments * SegmentLog.segmentBytes + largeInserted.load(ordering: .relaxed)
    }

    /// Why the cache looks after itself.
    enum Occasion {
        /// Enough has been inserted or removed: segments may be cleaned, which evicts.
        case change
        /// Time has passed.
        case time
        /// Somebody asks what is held, and waits for a full answer.
        case question
    }

    /// Looks after the cache if enough has been inserted since the last time, or goes on with what was begun; called
    /// once every ``SegmentLog/stepBytes``, and after large values.
    func maintainAfterStep() {
        let since = insertedBytes &- maintenance.insertedAtCensus.load(ordering: .relaxed)
        if since >= maintenance.interval.load(ordering: .relaxed) {
            maintain(.change)
        } else if maintenance.hasChores.load(ordering: .relaxed) {
            maintenance.alone { doChores() }
        }
    }

    /// Does the same where values have been removed that took `bytes` in their segments: a step for each
    /// ``SegmentLog/stepBytes``. The thread that is at it makes the steps of those that remove meanwhile, too; else much
    /// would stay when all have ended while it waited for a processor. No lock held, and outside the gate.
    func maintainAfterRemoval(of bytes: Int) {
        guard maintenance.removedBytes.wrappingAdd(bytes, ordering: .relaxed).newValue >= SegmentLog.stepBytes else {
            return
        }
        maintenance.alone {
            // Not for ever: the others may go on as fast as this thread cleans.
            for _ in 0..<8 {
                let steps = maintenance.removedBytes.load(ordering: .relaxed) / SegmentLog.stepBytes
                guard steps > 0 else { return }
                maintenance.removedBytes.wrappingSubtract(steps * SegmentLog.stepBytes, ordering: .relaxed)
                let gone = maintenance.heldAtCensus.load(ordering: .relaxed) &- heldInSegments
                if gone >= maintenance.interval.load(ordering: .relaxed) { lookAfter(.change) }
                for _ in 0..<steps where chores.isAny { doChores() }
            }
        }
    }

    /// Bytes that the values held take in segments, about. Not what the limits allow: one that is set lower evicts bit by
    /// bit, and of what has not left yet nothing can be cleaned.
    private var heldInSegments: Int {
        let drawn = room.drawn
        return drawn.byteCount + drawn.count * SegmentPolicy.bytesBesideValue
    }

    /// Goes on with what was begun, and looks after the cache if a second has passed; called every few thousand
    /// lookups.
    func maintainIfSecondPassed() {
        let elapsed = PurgeableMaintenance.now() &- maintenance.lastCensus.load(ordering: .relaxed)
        if elapsed >= PurgeableMaintenance.nanosecondsBetween {
            maintain(.time)
        } else if maintenance.hasChores.load(ordering: .relaxed) {
            maintenance.alone { doChores() }
        }
    }

    /// Takes a census of the pages and sees to it that what follows is done: entries of lost items go, segments are
    /// cleaned as the policy says. Does nothing if another thread is at it.
    ///
    /// No lock of a shard is held across a system call or for more than a thousand entries. Except for a question,
    /// the work is left to be done bit by bit (``PurgeableChores``).
    func maintain(_ occasion: Occasion) {
        maintenance.alone { lookAfter(occasion) }
    }

    /// What ``maintain(_:)`` does. The caller is alone at it.
    private func lookAfter(_ occasion: Occasion) {
        takeCensus(occasion)
        lookAfterLargeValues(ordinaryLimit: ordinaryLimit())
    }

    private func takeCensus(_ occasion: Occasion) {
        if maintenance.wasEmptied.exchange(false, ordering: .relaxed) { chores.policy.reset() }
        let inserted = insertedBytes
        let since = inserted - maintenance.insertedAtCensus.load(ordering: .relaxed)
        maintenance.lastCensus.store(PurgeableMaintenance.now(), ordering: .relaxed)
        let most = occasion == .question ? Int.max : PurgeableMaintenance.segmentsPerCensus
        let census = log.takeCensus(asking: most)
        residentBytes.store(census.volatileBytes, ordering: .relaxed)
        let interval = max(
            PurgeableMaintenance.leastInterval,
            (census.volatileBytes + largeBytes.load(ordering: .relaxed)) / PurgeableMaintenance.intervalShare
        )
        maintenance.interval.store(interval, ordering: .relaxed)
        chores.lostBytes += census.newlyLost * ItemLayout.pageBytes
        if occasion == .change {
            maintenance.insertedAtCensus.store(inserted, ordering: .relaxed)
            maintenance.heldAtCensus.store(heldInSegments, ordering: .relaxed)
            let decision = chores.policy.decide(
                census.segments.map(SegmentPolicy.Candidate.init),
                lostBytes: chores.lostBytes,
                insertedBytes: since,
                ordinaryLimit: ordinaryLimit()
            )
            chores.lostBytes = 0
            // Where departures are told of, each is taken out by itself: ``chores`` do that bit by bit.
            if observer == nil { for number in decision.drop { empty(number, .memoryPressure) } }
            chores.clean(decision, of: census)
        }
        if chores.policy.capacity != nil { rememberGhosts() }
        if log.takeLosses() > 0 || staleCount.load(ordering: .relaxed) > 0 || log.needsSweep {
            chores.sweepIsDue = true
        }
        if occasion == .question { sweepAll() }
        maintenance.hasChores.store(chores.isAny, ordering: .relaxed)
    }

    /// Bytes of values that the kernel cannot take which may stay: an eighth of what the process may use. Asked for
    /// only when there are such.
    private func ordinaryLimit() -> Int {
        if let givenOrdinaryLimit { return givenOrdinaryLimit }
        guard
            log.ordinaryBytes > SegmentLog.streamCount * SegmentLog.segmentBytes
                || largeOrdinary.load(ordering: .relaxed) > 0
        else { return .max }
        let budget = MemoryBudget.current().limitBytes ?? Self.assumedLimit
        return max(Self.leastOrdinaryLimit, budget / 8)
    }

    /// Empties a segment with all that is alive in it; returns the bytes of values that were.
    @discardableResult
    func empty(_ segment: Int, _ cause: RemovalCause) -> Int {
        guard let life = log.retire(segment) else { return 0 }
        staleCount.wrappingAdd(life.items, ordering: .relaxed)
        room.giveBack(count: life.items, byteCount: life.bytes)
        counters.removed(life.items, cause)
        return life.bytes
    }
}

extension SegmentPolicy.Candidate {
    init(_ census: SegmentLog.SegmentCensus) {
        self.init(
            number: census.segment,
            stream: census.stream,
            liveBytes: census.life.bytes + census.life.items * SegmentPolicy.bytesBesideValue,
            residentBytes: (SegmentLog.SegmentCensus.pages - census.pagesLost) * ItemLayout.pageBytes,
            isVolatile: census.isVolatile
        )
    }
}
