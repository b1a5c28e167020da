//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure

// What stays in the caches while usage is beyond the mark, whoever brought it there.
extension MemoryGovernor {
    /// Evicts about `bytes` of real memory, but leaves the caches a ``PressureEpisode/floor(budget:)`` while usage at
    /// `look` is not in the last 32nd before the limit; returns about how many bytes went.
    ///
    /// Memory that other processes hold, or the rest of this one, keeps usage beyond the mark however much is evicted.
    /// Without a floor every look evicted whatever there was: with 18.5 of 24 GiB in another process, 59,100 of 60,000
    /// values were gone when they were asked for right after they had been set. Memory that is announced counts as in use:
    /// whoever announces it waits until it is free.
    func evict(_ bytes: Int, at look: AdmissionLedger.Look) -> Int {
        let announced = state.withLock { $0.announcements.held }
        guard bytes > 0, look.used + announced < look.marks.last else { return evict(bytes) }
        let floor = PressureEpisode.floor(budget: look.reading.leastLimit)
        var beyond = bytesHeld(of: look.limit) - Double(floor)
        if beyond < Double(bytes) {
            // Entries that have come since may be larger than they are taken for.
            let isNew = state.withLock { state in
                collectSpent(&state)
                return state.countedAt != state.expected
            }
            if isNew { takeCensus(at: now(), .brink) }
            beyond = bytesHeldAtMost(of: look.limit) - Double(floor)
        }
        return evict(Int(min(Double(bytes), max(0, beyond))))
    }

    /// About what the caches hold. Costs that claim more than the limit are no sizes in bytes: then, what the process
    /// has in memory.
    private func bytesHeld(of limit: Int) -> Double {
        let measured = measure(visitingEntries: false).bytes
        guard measured > Double(limit), let resident = residentBytes() else { return measured }
        return min(measured, Double(resident))
    }

    /// The same where the allocator counts what is in use. Where it does not, that may be far too little: then all that
    /// the process has taken since its first cache.
    private func bytesHeldAtMost(of limit: Int) -> Double {
        let held = bytesHeld(of: limit)
        let (counted, before) = state.withLock { ($0.counted, $0.inUseBefore ?? 0) }
        guard counted == nil, let resident = residentBytes() else { return held }
        return max(held, Double(resident - before))
    }
}
