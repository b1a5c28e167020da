//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import Synchronization

// What the caches may hold while pressure lasts, and measuring what they hold.
extension MemoryGovernor {
    /// Below the ceiling that pressure has set: evicts before more may be inserted, and grants a small part of it.
    ///
    /// - Parameters:
    ///   - granted: bytes that count as outstanding already.
    ///   - overrun: what the last insertion took beyond its grant.
    func keepBelowCeiling(granting granted: Int, to figures: PressureFigures, overrun: Int, budget: Int?) -> Int {
        guard isUnderPressure else { return granted }
        let (grant, measurement) = state.withLock { state in
            let admission = state.episode.admit(granted, outstanding: unspent - granted, overrun: overrun)
            addOutstanding(admission.grant - granted, of: figures)
            return admission
        }
        guard let measurement else { return grant }
        let holdings = measure()
        let excess = state.withLock {
            $0.episode.finish(
                measurement: measurement,
                holdings,
                floor: PressureEpisode.floor(budget: budget),
                unspent: unspent + overrun
            )
        }
        if excess > 0 {
            let freed = evict(excess, leaving: PressureEpisode.Cut(unspent: unspent + overrun))
            state.withLock { state in
                state.episode.evicted(excess)
                state.ledger.evicted(freed)
            }
        }
        return grant
    }

    /// What each cache holds, by sizes that the growth of the process does not contradict.
    ///
    /// - Parameter visitingEntries: whether to visit the entries of caches that have costs, for those without: O(n).
    ///   Else all that such a cache holds is what its costs say.
    func measure(visitingEntries: Bool = true) -> PressureEpisode.Holdings {
        var holdings = PressureEpisode.Holdings()
        for participant in participants() {
            holdings[ObjectIdentifier(participant.figures)] = participant.holding(visitingEntries: visitingEntries)
        }
        guard state.withLock({ $0.unmeasuredBytes(holdings) > InsertionEstimate.slack && $0.inUseBefore != nil }),
            let resident = residentBytes()
        else { return holdings }
        let counted = freshlyCounted()
        let isMapped = countsMapped.load(ordering: .relaxed)
        return state.withLock { state in
            let grown = state.growth(resident: resident, counted: counted, withPages: isMapped)
            state.boundEstimates(&holdings, grown: grown, isCounted: counted != nil)
            return holdings
        }
    }

    /// Counted now, or less long ago than counting took; nil where nobody can count what is in use.
    private func freshlyCounted() -> HeapCensus? {
        let begin = now()
        if state.withLock({ $0.censusPacing.begins(at: begin, .decisive) }) {
            let census = takeCensus()
            let end = max(now(), begin)
            state.withLock { state in
                state.censusPacing.finished(at: end)
                state.counted = census
            }
        }
        return state.withLock { $0.counted }
    }
}

extension MemoryGovernor.State {
    /// Those of `holdings` whose sizes have not been measured yet.
    private func unmeasured(_ holdings: PressureEpisode.Holdings) -> PressureEpisode.Holdings {
        holdings.filter { identity, holding in
            holding.entries > 0 && members[identity]?.estimate.isMeasured == false
        }
    }

    /// What these are taken to hold.
    fileprivate func unmeasuredBytes(_ holdings: PressureEpisode.Holdings) -> Double {
        unmeasured(holdings).values.reduce(0) { $0 + $1.entries * $1.bytesPerEntry }
    }

    /// Bytes that the process uses more than before its first cache.
    ///
    /// - Parameter withPages: whether to count pages of purgeable values, as where nobody can count what is in use; see
    ///   `correctEstimates`.
    fileprivate func growth(resident: Int, counted: HeapCensus?, withPages: Bool) -> Double {
        let isWhole = withPages || counted == nil
        let inUse = min(counted?.held(withPages: isWhole) ?? resident, resident)
        return Double(max(0, inUse - (inUseBefore?.held(withPages: isWhole) ?? 0)))
    }

    /// Where sizes have not been measured yet: all such entries together hold no more than the `grown` bytes that the
    /// process uses more than before its first cache, less what entries hold whose sizes are known. Holds for any
    /// number of evictions in between, and whatever else the process allocates.
    ///
    /// Where the allocator has counted, and all that is used is too little for sizes to be told, every entry counts
    /// alike. A cut left a tenth instead of a quarter where the dear ones were few, and so taken for large.
    fileprivate mutating func boundEstimates(_ holdings: inout PressureEpisode.Holdings, grown: Double, isCounted: Bool)
    {
        let estimated = unmeasuredBytes(holdings)
        guard estimated > InsertionEstimate.slack else { return }
        let unmeasured = unmeasured(holdings)
        let known = holdings.reduce(0) { unmeasured[$1.key] == nil ? $0 + $1.value.bytes : $0 }
        let part = (max(0, grown - known) + InsertionEstimate.slack) / estimated
        // The allocator's count knows no charge in advance; 64 KiB for what else has been allocated meanwhile.
        let mean = (grown + InsertionEstimate.slack / 12) / holdings.values.reduce(0) { $0 + $1.entries }
        for (identity, holding) in unmeasured {
            var most = holding.bytesPerEntry * part
            if isCounted, grown < InsertionEstimate.slack { most = min(most, mean) }
            guard most < holding.bytesPerEntry else { continue }
            members[identity]?.estimate.bound(by: most, entries: Int(holding.entries))
            guard let member = members[identity] else { continue }
            member.figures.publish(member.estimate)
            holdings[identity]?.bytesPerEntry = Double(member.figures.bytesPerEntry.load(ordering: .relaxed))
        }
    }
}

extension MemoryGovernor.Participant {
    /// What the cache holds, by the sizes that it reckons with.
    fileprivate func holding(visitingEntries: Bool) -> PressureEpisode.Holding {
        while true {
            // The cache multiplies by the size that is published: once more if that has changed meanwhile.
            let bytesPerEntry = figures.bytesPerEntry.load(ordering: .relaxed)
            let known = cache.holdings
            let isKnown = known.entries > 0 || known.costs > 0
            let bytes =
                visitingEntries || !isKnown
                ? Double(cache.reclaimableBytes)
                : Double(known.entries) * Double(bytesPerEntry) + Double(known.costs)
            guard figures.bytesPerEntry.load(ordering: .relaxed) == bytesPerEntry else { continue }
            var holding = PressureEpisode.Holding(
                bytesPerEntry: Double(bytesPerEntry),
                costs: bytes,
                bytesPerCost: bytesPerCost
            )
            if isKnown {
                holding.costs = min(Double(known.costs), bytes)
                holding.entries = (bytes - holding.costs) / holding.bytesPerEntry
            }
            return holding
        }
    }
}
