//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure

// What the allocator says, now and then: how much lies free, and how large the entries are.
extension MemoryGovernor {
    /// Corrects the account and the estimates by what the allocator says, where a census is not too dear just now.
    func takeCensus(at now: UInt64, _ urgency: CensusPacing.Urgency = .usual) {
        guard state.withLock({ $0.censusPacing.begins(at: now, urgency) }) else { return }
        let before = participants().reduce(into: Held()) { $0.add($1.cache.holdings) }
        let census = takeCensus()
        let holdings = participants().map { (figures: $0.figures, held: $0.cache.holdings) }
        let after = holdings.reduce(into: Held()) { $0.add($1.held) }
        let end = max(self.now(), now)
        state.withLock { state in
            state.censusPacing.finished(at: end)
            guard let census else { return }
            // Insertions may have fallen into holes that nobody knew of.
            if census.holes > state.ledger.holes { state.disturbances += 1 }
            state.ledger.counted(holes: census.holes)
            if after.isAbout(before), census.held > 0 { state.correctEstimates(of: holdings, held: census.held) }
        }
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
    fileprivate mutating func correctEstimates(
        of caches: [(figures: PressureFigures, held: (entries: Int, costs: Int))],
        held: Int
    ) {
        let known = caches.filter { members[ObjectIdentifier($0.figures)] != nil }
        var holdings = known.map { cache in
            HeldBytes.Holding(
                estimate: members[ObjectIdentifier(cache.figures)]!.estimate,
                entries: cache.held.entries,
                costs: cache.held.costs
            )
        }
        heldBytes.correct(&holdings, held: held, before: inUseBefore ?? 0)
        for (cache, holding) in zip(known, holdings) {
            members[ObjectIdentifier(cache.figures)]?.estimate = holding.estimate
            cache.figures.publish(holding.estimate)
        }
    }
}
