//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
package import MemoryPressure
internal import Synchronization

// The governor's turns on the one thread: watching usage for memory that nobody's insertion accounts for, and trims.
extension MemoryGovernor: PressureThreadClient {
    package var descriptors: [PolledDescriptor] { [] }

    /// Joins or leaves the thread and the monitor, as there are caches or not.
    func settle() {
        while true {
            let hasMembers = state.withLock { !$0.members.isEmpty }
            if hasMembers {
                let isNewProcess =
                    generation.exchange(ForkGeneration.current, ordering: .relaxed)
                    != ForkGeneration.current
                PressureThread.shared.attach(self)
                if isNewProcess || state.withLock({ $0.observation == nil }) {
                    let observation = monitor.observe { [weak self] _ in
                        // Usage is the governor's own business, and its own doing.
                        if let self { self.react(to: self.monitor.levelBesideUsage) }
                    }
                    let old = state.withLock { state in
                        defer { state.observation = observation }
                        return state.observation
                    }
                    old?.cancel()
                    // The pressure may have begun before there was a cache, or ended while there was none.
                    react(to: monitor.levelBesideUsage)
                }
            } else {
                generation.store(-1, ordering: .relaxed)
                PressureThread.shared.detach(self)
                let observation = state.withLock { state in
                    defer { state.observation = nil }
                    return state.observation
                }
                observation?.cancel()
            }
            // Somebody may have come or gone meanwhile; their own call may have been overtaken by this one.
            if state.withLock({ !$0.members.isEmpty }) == hasMembers { return }
        }
    }

    package func turn(now: UInt64, ready: [PolledDescriptor]) -> UInt64? {
        let isWanted = isTrimWanted.load(ordering: .relaxed)
        guard let reading = gauge.read(now: now, exact: isWanted) else {
            if isWanted { trim(self.now(), before: nil) }
            return now &+ 1_000_000_000
        }
        noteAnnounced(at: reading, now: now)
        let (look, isBurst, exceedsPlay, rests, mayMakeRoom, watch) = state.withLock { state in
            collectSpent(&state)
            let look = state.look(reading, now: now)
            let isBurst = state.watch.note(look, inserted: state.expected, unreported: unspent, now: now)
            let exceedsPlay = state.watch.exceedsPlay(look)
            let rests = state.watch.restsBeyondMark(look)
            return (look, isBurst, exceedsPlay, rests, state.roomPacing.mayHelp(look, now: now), state.watch)
        }
        // Whatever takes memory so fast, or so far, does not wait until trims are paced.
        let isFar = look.used > look.marks.halfway
        if isBurst || rests || isFar && mayMakeRoom {
            if isBurst || rests || exceedsPlay { revokeCredits() }
            let freed = makeRoom(waiting: false, atRest: rests && !isBurst && !isFar)
            let end = self.now()
            state.withLock { $0.roomPacing.tried(look, bringing: freed, from: now, to: end) }
            return end &+ UsageWatch.shortest
        }
        if look.used > look.marks.near, !watch.isQuiet { takeCensus(at: now) }
        // What insertions carry usage beyond the mark is their own play. More is not: what they have been granted was
        // measured by another size of values, or others are at work. From half of that on usage is brought back to
        // the mark all the same: whoever carried it there may not insert again.
        if exceedsPlay { revokeCredits() }
        if !isFar, look.untilMark < -look.marks.leastRelief, let exact = gauge.read(now: now, exact: true) {
            let (exactLook, decision) = state.withLock { state in
                let look = state.look(exact, now: now)
                return (look, state.ledger.relieve(look))
            }
            carryOut(decision, at: exactLook)
        }
        if isTrimWanted.load(ordering: .relaxed) {
            let (pacing, holes) = state.withLock { ($0.pacing, $0.ledger.holes) }
            let isUrgent = look.used > look.marks.brink || waiting.load(ordering: .relaxed) > 0
            if pacing.allows(at: self.now(), isUrgent: isUrgent, holes: holes, limit: look.limit) {
                trim(self.now(), before: gauge.read(now: self.now(), exact: true))
            } else {
                let remaining = pacing.remaining(at: self.now(), holes: holes, limit: look.limit)
                return now &+ min(remaining, watch.interval(look))
            }
        }
        return now &+ watch.interval(look)
    }

    // MARK: Trimming

    /// Has free memory returned, soon, on the thread.
    func requestTrim() {
        if !isTrimWanted.exchange(true, ordering: .acquiringAndReleasing) { PressureThread.shared.wake() }
    }

    /// Has free memory returned and waits for it, for 200 ms at most. On the thread itself, and where there is none,
    /// does it.
    func trimNow() {
        guard !PressureThread.shared.isCurrent, PressureThread.shared.attach(self) else {
            trim(now(), before: gauge.read(now: now(), exact: true))
            return
        }
        let seen = trims.count
        waiting.add(1, ordering: .relaxed)
        defer { waiting.subtract(1, ordering: .relaxed) }
        isTrimWanted.store(true, ordering: .releasing)
        PressureThread.shared.wake()
        trims.wait(past: seen, nanoseconds: 200_000_000)
        Platform.joinAllocatorTrim()
    }

    /// Has free memory returned, on the calling thread; returns what usage fell by.
    @discardableResult
    func trim(_ begin: UInt64, before: MemoryGauge.Reading?) -> Int {
        isTrimWanted.store(false, ordering: .releasing)
        trimAllocator()
        let end = max(now(), begin)
        let after = gauge.read(now: end, exact: true)
        defer { trims.advance() }
        return state.withLock { state in
            state.disturbances += 1
            state.statistics.trims += 1
            state.statistics.trimNanoseconds += end &- begin
            let expected = state.ledger.holes
            var brought = 0
            if let before, let after {
                let look = state.look(after, now: end)
                brought = state.ledger.trimmed(from: before.used, to: look)
            }
            // A trim that finds little says how long it takes to look, and not how fast memory is returned.
            if brought > 1 << 20 { state.reserve.returned(brought, in: end &- begin) }
            state.statistics.bytesTrimmed += brought
            state.pacing.finished(at: end, nanoseconds: end &- begin, bytes: brought, expected: expected)
            return brought
        }
    }
}
