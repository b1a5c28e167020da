//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import PurgeableMemory
internal import Synchronization

// Room for what is not a cache: how much is left free, and making it free at once.
extension MemoryGovernor.State {
    /// A reading with the marks that hold now.
    mutating func look(_ reading: MemoryGauge.Reading, now: UInt64) -> AdmissionLedger.Look {
        var bytes = reserve.bytes(limit: reading.limit, burst: MemoryReserve.burstBytes, now: now)
        if !announcements.isEmpty { bytes = max(bytes, announcedReserve(reading.limit)) }
        let look = AdmissionLedger.Look(reading, reserve: bytes)
        roomPacing.note(look)
        brinkPacing.note(look)
        return look
    }

    /// Takes note that usage, at `look`, has grown by `rise` bytes beyond what insertions were charged.
    ///
    /// A value without a cost is charged what others took. Where a value of an eighth of the limit comes after many of
    /// 1,000 bytes, nothing is evicted for it before it is in memory, and the step back from the brink leaves three
    /// quarters of the reserve: two threads that inserted such values one after the other were killed in 5 of 10 runs.
    /// So whoever inserts waits until the whole reserve is free again, as it was before. What is known to be in the
    /// making is not a rise.
    mutating func note(rise: Int, at look: AdmissionLedger.Look, now: UInt64) {
        if look.used <= look.marks.halfway || look.used - reserve.inFlight(now: now) <= look.marks.halfway {
            hasRisen = false
        } else if rise > look.marks.leastStep {
            hasRisen = true
        }
    }

    /// Bytes to leave free for what is announced, and for what nobody announces meanwhile.
    func announcedReserve(_ limit: Int) -> Int { announcements.held + MemoryMarks.leastReserve(limit) }

    /// What is in use at `reading` while the caches hold `held`.
    func usage(_ reading: MemoryGauge.Reading, _ held: CacheHoldings) -> Announcements.Usage {
        Announcements.Usage(inUse: reading.used + reading.leftOut - ledger.holes, held: held)
    }
}

extension MemoryGovernor {
    /// Begins to keep `bytes` free and makes them so; returns how many of them count until ``endAnnouncement(_:)``, and
    /// how many are free.
    package func announce(_ bytes: Int, makingRoom: Bool = true) -> (kept: Int, free: Int) {
        let now = self.now()
        guard bytes > 0, let reading = gauge.read(now: now, exact: true) else {
            return (0, gauge.read(now: now).map { max(0, $0.limit - $0.used) } ?? .max)
        }
        // No more than there is: sums stay in range.
        let kept = min(bytes, reading.limit)
        takeCensus(at: now, .announced)
        let held = cacheHoldings()
        let isMissing = state.withLock { state in
            state.announcements.prepare(kept, state.usage(reading, held))
            isAnnounced.store(true, ordering: .relaxed)
            return reading.used > reading.limit - state.announcedReserve(reading.limit)
        }
        if isMissing {
            // What was granted was granted without this.
            revokeCredits()
            if makingRoom { makeRoom(waiting: true) }
            takeCensus(at: self.now(), .decisive)
        }
        let after = gauge.read(now: self.now(), exact: true)
        let heldAfter = cacheHoldings()
        return state.withLock { state in
            state.announcements.begin(kept, after.map { state.usage($0, heldAfter) })
            guard let after else { return (kept, .max) }
            let others = state.announcements.held - kept
            return (kept, max(0, after.limit - after.used - others))
        }
    }

    /// Ends keeping free the `kept` bytes of an announcement.
    package func endAnnouncement(_ kept: Int) {
        guard kept > 0 else { return }
        let reading = gauge.read(now: now(), exact: true)
        let held = cacheHoldings()
        state.withLock { state in
            state.announcements.end(kept, reading.map { state.usage($0, held) })
            isAnnounced.store(!state.announcements.isEmpty, ordering: .relaxed)
        }
    }

    /// Takes note of how much of what is announced is in use at `reading`.
    func noteAnnounced(at reading: MemoryGauge.Reading, now: UInt64) {
        guard isAnnounced.load(ordering: .relaxed) else { return }
        takeCensus(at: now, .announced)
        let held = cacheHoldings()
        state.withLock { $0.announcements.note($0.usage(reading, held)) }
    }

    /// Adds what has been spent since the last look to what insertions explain.
    ///
    /// Values that take the place of others change nothing of what is in use, whatever they are charged: what they say
    /// of the size of an entry is too little. More than an eighth of them disturbs, as it does what is inserted into
    /// other caches: see ``LearningWindow/Lesson``.
    func collectSpent(_ state: inout State) {
        let spent = spentSinceLook.exchange(0, ordering: .relaxed)
        let released = releasedSinceLook.exchange(0, ordering: .relaxed)
        state.expected += spent
        state.uncollected += spent
        state.uncollectedReleases += released
        if released > spent / 8 { state.disturbances += 1 }
    }

    /// Evicts and has the memory returned at once, on the calling thread, until usage is a little below the mark; returns
    /// how many bytes went and came back together.
    ///
    /// In steps, because usage tells after each whether more has to go: values of many ages share their pages, and then
    /// eviction alone returns nothing. When four times what is missing should have gone, the allocator is asked: if so
    /// much lies free in its heap that it cannot return, that is enough; if not, entries were smaller than they were
    /// taken for. In the last 32nd before the limit eviction goes on whatever it costs. Whoever does not wait for the
    /// room leaves it at that below ``MemoryMarks/halfway``: insertions go on meanwhile and fill what lies free, so that
    /// usage need not fall at all. (The governor's thread evicted 464 MiB in two goes, with 140 trims.) Where usage
    /// rests beyond the mark, the mark is enough, and what lies free after a first trim counts before anything is
    /// evicted. (Two threads had stopped inserting values of 50 bytes, 2 MiB beyond: 40 % of them were evicted to bring
    /// usage down by one.)
    ///
    /// One thread at a time: two would evict for one need, and wait for each other in the allocator. It takes account
    /// of all announcements, and looks again after each step, so that others have nothing to do but wait for it, where
    /// memory is missing at all. It may be in a removal handler that waits for one of them, or the processor may be
    /// busy: who has waited 200 ms without news makes room beside it. A removal handler of its own makes none: see
    /// ``ProcessEviction``.
    @discardableResult
    func makeRoom(waiting: Bool, atRest: Bool = false) -> Int {
        if ProcessEviction.isRunning { return 0 }
        var isAlone = beginMakingRoom()
        while !isAlone {
            guard waiting, isBeyondGoal else { return 0 }
            let seen = trims.count
            trims.wait(past: seen, nanoseconds: 200_000_000)
            if trims.count == seen { break }
            isAlone = beginMakingRoom()
        }
        defer { if isAlone { state.withLock { $0.isMakingRoom = false } } }
        warmQueue?.drain()
        if !waiting, state.withLock({ !$0.ledger.countsOnRelease }) { return evictWhatOthersReturn() }
        var evicted = 0
        var brought = 0
        var most = 0
        for round in 0..<256 {
            let now = self.now()
            guard let reading = gauge.read(now: now, exact: true) else { return brought }
            noteAnnounced(at: reading, now: now)
            let (look, holes) = state.withLock { ($0.look(reading, now: now), $0.ledger.holes) }
            let beyond = look.used - (atRest ? look.marks.mark : look.marks.goal)
            guard beyond > 0 else { return brought }
            most = max(most, beyond)
            if evicted > 4 * most || atRest && round == 1, look.used < look.marks.last {
                takeCensus(at: now, .brink)
                if state.withLock({ $0.ledger.holes }) >= 4 * beyond { return brought }
                if !waiting, round > 1, look.used <= look.marks.halfway { return brought }
                evicted = 0
            }
            let step = min(beyond, max(look.marks.leastStep, beyond / 4))
            // What lies free already need only be returned.
            let mustEvict = round > 0 || holes < step && !atRest
            let freed = mustEvict ? evictCounted(at: look) { _ in step } : 0
            evicted += freed
            let returned = trim(now, before: reading)
            brought += freed + returned
            if mustEvict, freed == 0, returned == 0 { return brought }
        }
        return brought
    }

    /// Evicts what is missing, and leaves the rest to those who insert.
    ///
    /// An allocator that returns memory to its own threads alone has returned nothing when the governor's thread looks
    /// again: a burst emptied the caches, step by step, and brought nothing meanwhile.
    private func evictWhatOthersReturn() -> Int {
        let now = self.now()
        guard let reading = gauge.read(now: now, exact: true) else { return 0 }
        let look = state.withLock { $0.look(reading, now: now) }
        guard look.used > look.marks.goal else { return 0 }
        let least = look.used > look.marks.last ? look.marks.leastStep : 0
        let freed = evictCounted(at: look) { max(look.used - look.marks.goal - $0, least) }
        return freed + trim(now, before: reading)
    }

    /// Evicts about so many bytes as `decide` says, given what is evicted already. They count as evicted from then on,
    /// as those of the ledger's decisions do: else the governor's thread, or an insertion, evicts for the same need
    /// meanwhile. Returns about how many went.
    @discardableResult
    private func evictCounted(at look: AdmissionLedger.Look, _ decide: (_ holes: Int) -> Int) -> Int {
        let bytes = state.withLock { state in
            let bytes = max(0, decide(state.ledger.holes))
            state.ledger.evicted(bytes)
            return bytes
        }
        let freed = evict(bytes, at: look)
        state.withLock { $0.ledger.evicted(freed, asked: bytes) }
        return freed
    }

    /// Whether memory is missing.
    private var isBeyondGoal: Bool {
        let now = self.now()
        guard let reading = gauge.read(now: now, exact: true) else { return false }
        let look = state.withLock { $0.look(reading, now: now) }
        return look.used > look.marks.goal
    }

    /// Whether no other thread was making room; now one is.
    private func beginMakingRoom() -> Bool {
        state.withLock { state in
            defer { state.isMakingRoom = true }
            return !state.isMakingRoom
        }
    }
}
