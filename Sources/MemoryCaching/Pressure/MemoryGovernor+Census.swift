//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import Synchronization

// What the allocator says, now and then: how much lies free, and how large the entries are.
extension MemoryGovernor {
    /// Corrects the account and the estimates by what the allocator says, where a census is not too dear just now.
    func takeCensus(at now: UInt64, _ urgency: CensusPacing.Urgency = .usual) {
        let begins = state.withLock { state in
            guard state.censusPacing.begins(at: now, urgency) else { return false }
            collectSpent(&state)
            state.countedAt = state.expected
            return true
        }
        guard begins else { return }
        let before = participants().reduce(into: Held()) { $0.add($1.cache.holdings) }
        let census = takeCensus()
        let holdings = participants().map { (figures: $0.figures, held: $0.cache.holdings) }
        let after = holdings.reduce(into: Held()) { $0.add($1.held) }
        let others = holdingsOfOtherGovernors()
        let end = max(self.now(), now)
        let isMapped = countsMapped.load(ordering: .relaxed)
        let estimates: [InsertionEstimate] = state.withLock { state in
            state.censusPacing.finished(at: end)
            state.counted = census
            guard let census else { return [] }
            // Insertions may have fallen into holes that nobody knew of.
            if census.holes > state.ledger.holes { state.disturbances += 1 }
            state.ledger.counted(holes: census.holes)
            guard after.isAbout(before), census.held > 0 else { return [] }
            return state.correctEstimates(of: holdings, beside: others.map(\.holding), by: census, withPages: isMapped)
        }
        for (other, estimate) in zip(others, estimates) {
            other.governor.state.withLock { $0.setEstimate(estimate, of: other.figures) }
        }
    }

    /// What the caches of the process hold that have other governors, by the estimates of those. Each governor took all
    /// that the process holds for its own caches': the sizes that two governors learned were twice what they are, and
    /// where one had few entries left, 285,128 bytes each instead of 4,176.
    func holdingsOfOtherGovernors() -> [OtherHolding] {
        otherGovernors.flatMap { governor in
            let held = governor.participants().map { ($0.figures, $0.cache.holdings) }
            return governor.state.withLock { state in
                held.compactMap { figures, held in
                    state.members[ObjectIdentifier(figures)].map {
                        let holding = HeldBytes.Holding(
                            estimate: $0.estimate,
                            entries: held.entries,
                            costs: held.costs
                        )
                        return OtherHolding(governor: governor, figures: figures, holding: holding)
                    }
                }
            }
        }
    }

    /// What a cache holds that has another governor.
    struct OtherHolding {
        let governor: MemoryGovernor
        let figures: PressureFigures
        let holding: HeldBytes.Holding
    }

    /// What all caches hold: entries without a cost, and the costs of the others.
    private struct Held {
        var entries = 0.0
        var costs = 0.0

        mutating func add(_ holdings: (entries: Int, costs: Int)) {
            entries += Double(holdings.entries)
            costs += Double(holdings.costs)
        }

        /// Whether so little has changed since `other` that what was counted in between is theirs. Threads that fill
        /// what was evicted before add a mebibyte and more a millisecond, and whoever counts may have to wait for a
        /// processor in between: sizes came out as a third less, or as nothing.
        func isAbout(_ other: Held) -> Bool {
            abs(entries - other.entries) <= entries / 8 && abs(costs - other.costs) <= costs / 8
        }
    }
}

extension MemoryGovernor.State {
    /// Corrects what these caches hold and `others`, whose estimates it returns.
    ///
    /// - Parameter withPages: whether caches hold pages of purgeable values, as they do only where a limit counts what
    ///   is mapped. Entries without a cost were taken for as large as such pages: at a warning, 843 MB had to go of 136
    ///   MB, and of caches with costs nothing went.
    fileprivate mutating func correctEstimates(
        of caches: [(figures: PressureFigures, held: (entries: Int, costs: Int))],
        beside others: [HeldBytes.Holding],
        by census: HeapCensus,
        withPages: Bool
    ) -> [InsertionEstimate] {
        let held = census.held(withPages: withPages)
        let before = inUseBefore?.held(withPages: withPages) ?? 0
        let known = caches.filter { members[ObjectIdentifier($0.figures)] != nil }
        var holdings = known.map { cache in
            HeldBytes.Holding(
                estimate: members[ObjectIdentifier(cache.figures)]!.estimate,
                entries: cache.held.entries,
                costs: cache.held.costs
            )
        }
        holdings += others
        // Too little for sizes to be told, and none is known: see `boundEstimates`.
        let isLittle = Double(held - before) < InsertionEstimate.slack
        if isLittle, !holdings.contains(where: \.estimate.isMeasured) { return [] }
        heldBytes.correct(&holdings, held: held, before: before)
        for (cache, holding) in zip(known, holdings) { setEstimate(holding.estimate, of: cache.figures) }
        return holdings.dropFirst(known.count).map(\.estimate)
    }

    fileprivate mutating func setEstimate(_ estimate: InsertionEstimate, of figures: PressureFigures) {
        guard members[ObjectIdentifier(figures)] != nil else { return }
        members[ObjectIdentifier(figures)]?.estimate = estimate
        figures.publish(estimate)
    }
}
