//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import Synchronization

// How much an inserting thread may insert before it asks again.
extension MemoryGovernor {
    /// Whether it is so long since usage was looked at that a burst could have reached the brink. Reads the clock (20
    /// to 50 ns): to be asked at every sixteenth insertion, and near the mark at each.
    @usableFromInline
    package var isLookOverdue: Bool { now() >= nextLook.load(ordering: .relaxed) }

    /// Takes `spent` bytes of a credit of `granted` into account and grants another, evicting first where it must.
    ///
    /// - Parameters:
    ///   - released: what entries were charged that have gone meanwhile, but for those that the governor evicted.
    ///   - charge: about what the insertion under way takes.
    func grant(
        after spent: Int,
        releasing released: Int = 0,
        of granted: Int,
        charging charge: Int,
        to figures: PressureFigures
    ) -> Int {
        note(spent: spent, released: released)
        let now = self.now()
        let left = allowance.load(ordering: .relaxed)
        if left > 4 << 20, now < allowanceEnds.load(ordering: .relaxed), !isUnderPressure {
            // A 256th of what is left: many shards share an allowance without any of them coming away empty.
            let grant = min(left / 256, 64 << 20)
            allowance.subtract(grant, ordering: .relaxed)
            addOutstanding(grant - granted, of: figures)
            return grant
        }
        addOutstanding(-granted, of: figures)
        // A credit of nothing was never granted, or has been revoked: what it reports is older than this insertion.
        return look(now, for: figures, charging: charge, overrun: granted == 0 ? 0 : max(0, spent - granted))
    }

    /// Takes `spent` bytes of a credit of `granted` into account, and grants nothing: see ``ProcessEviction``.
    func postpone(after spent: Int, releasing released: Int, of granted: Int, to figures: PressureFigures) -> Int {
        note(spent: spent, released: released)
        addOutstanding(-granted, of: figures)
        ProcessEviction.inserted(spent)
        return 0
    }

    private func note(spent: Int, released: Int) {
        spentSinceLook.add(spent, ordering: .relaxed)
        if released != 0 { releasedSinceLook.add(released, ordering: .relaxed) }
    }

    /// Bytes that may be inserted without asking again: the credits of all shards, and grants on their way to one.
    package var unspent: Int { outstanding.load(ordering: .relaxed) }

    func addOutstanding(_ bytes: Int, of figures: PressureFigures) {
        figures.outstanding.add(bytes, ordering: .relaxed)
        outstanding.add(bytes, ordering: .relaxed)
    }

    private func look(_ now: UInt64, for figures: PressureFigures, charging charge: Int, overrun: Int) -> Int {
        if generation.load(ordering: .relaxed) != ForkGeneration.current { settle() }
        Platform.joinAllocatorTrim()
        guard let reading = gauge.read(now: now) else {
            nextLook.store(now &+ 1_000_000, ordering: .relaxed)
            addOutstanding(1 << 20, of: figures)
            return keepBelowCeiling(granting: 1 << 20, to: figures, overrun: overrun, budget: nil)
        }
        noteAnnounced(at: reading, now: now)
        let (look, question, decision, becameTight, hasRisen) = state.withLock { state in
            state.statistics.looks += 1
            state.reserve.inserted(charge, by: Platform.currentThreadNumber, limit: reading.limit, now: now)
            let look = state.look(reading, now: now)
            collectSpent(&state)
            let rise = state.ledger.observe(look, inserted: state.uncollected, released: state.uncollectedReleases)
            state.note(rise: rise, at: look, now: now)
            (state.uncollected, state.uncollectedReleases) = (0, 0)
            let question = noteInsertions(of: figures, at: look, &state)
            let wasTight = state.isTight
            state.isTight = look.used > look.marks.near
            let decision = state.ledger.admit(look, outstanding: unspent, charging: charge)
            // At once, so that whoever asks next knows of it.
            addOutstanding(decision.grant, of: figures)
            return (look, question, decision, state.isTight && !wasTight, state.hasRisen)
        }
        nextLook.store(now &+ look.respite, ordering: .relaxed)
        isNearMark.store(look.used > look.marks.near, ordering: .relaxed)
        isScarce.store(look.used > look.marks.watched, ordering: .relaxed)
        countsMapped.store(reading.countsMapped, ordering: .relaxed)
        isMappingLimited.store(reading.isMappingLimited, ordering: .relaxed)
        let isAmple = look.used < look.marks.ample && !isUnderPressure
        allowance.store(isAmple ? look.untilMark / 8 : 0, ordering: .relaxed)
        allowanceEnds.store(now &+ 5_000_000, ordering: .relaxed)
        // A system call: the others know by now that nobody need look.
        if let question { learn(from: question, of: figures) }
        // No more than the play was granted near the mark, or is left of what was granted before.
        if becameTight, unspent > look.marks.play { revokeCredits() }
        carryOut(decision, at: look, makingRoom: hasRisen)
        return keepBelowCeiling(granting: decision.grant, to: figures, overrun: overrun, budget: reading.leastLimit)
    }

    /// Makes every shard of every cache ask before it inserts again.
    func revokeCredits() {
        allowance.store(0, ordering: .relaxed)
        for participant in participants() {
            addOutstanding(-participant.cache.revokeInsertionCredit(), of: participant.figures)
        }
    }
}
