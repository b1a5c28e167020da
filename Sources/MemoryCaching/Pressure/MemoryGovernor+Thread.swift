//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

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
        let look = AdmissionLedger.Look(reading)
        // A 128th beyond the mark is the inserting threads' own play.
        if look.room < -look.limit / 128, let exact = gauge.read(now: now, exact: true) {
            let decision = state.withLock { $0.ledger.relieve(.init(exact)) }
            carryOut(decision)
        }
        if isTrimWanted.load(ordering: .relaxed) {
            let pacing = state.withLock { $0.pacing }
            let isUrgent = look.used > look.brink || waiting.load(ordering: .relaxed) > 0
            if pacing.allows(at: self.now(), isUrgent: isUrgent) {
                trim(self.now(), before: gauge.read(now: self.now(), exact: true))
            } else {
                return now &+ min(pacing.remaining(at: self.now()), Self.watchInterval(look))
            }
        }
        return now &+ Self.watchInterval(look)
    }

    /// How long usage may go unwatched: until a burst of 3 GB/s from here could reach the brink; a millisecond at
    /// least, a second at most.
    static func watchInterval(_ look: AdmissionLedger.Look) -> UInt64 {
        UInt64(min(max((look.brink - look.used) / 3, 1_000_000), 1_000_000_000))
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
            return trim(now(), before: gauge.read(now: now(), exact: true))
        }
        let seen = trims.count
        waiting.add(1, ordering: .relaxed)
        defer { waiting.subtract(1, ordering: .relaxed) }
        isTrimWanted.store(true, ordering: .releasing)
        PressureThread.shared.wake()
        trims.wait(past: seen, nanoseconds: 200_000_000)
    }

    private func trim(_ begin: UInt64, before: MemoryGauge.Reading?) {
        isTrimWanted.store(false, ordering: .releasing)
        trimAllocator()
        let end = max(now(), begin)
        let after = gauge.read(now: end, exact: true)
        state.withLock { state in
            state.disturbances += 1
            state.statistics.trims += 1
            state.statistics.trimNanoseconds += end &- begin
            let expected = state.ledger.holes
            var brought = 0
            if let before, let after { brought = state.ledger.trimmed(from: before.used, to: .init(after)) }
            state.statistics.bytesTrimmed += brought
            state.pacing.finished(at: end, nanoseconds: end &- begin, bytes: brought, expected: expected)
        }
        trims.advance()
    }
}
