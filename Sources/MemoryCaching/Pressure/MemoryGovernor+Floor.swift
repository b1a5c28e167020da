//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure

// What stays in the caches while others bring usage beyond the mark.
extension MemoryGovernor {
    /// Evicts about `bytes` of real memory, but leaves the caches a ``PressureEpisode/floor(budget:)`` while usage at
    /// `look` is not in the last 32nd before the limit; returns about how many bytes went.
    ///
    /// Memory that other processes hold keeps usage beyond the mark however much is evicted. Without a floor every look
    /// evicted whatever there was: with 18.5 of 24 GiB in another process, 59,100 of 60,000 values were gone when they
    /// were asked for right after they had been set. Memory that is announced counts as in use: whoever announces it
    /// waits until it is free.
    ///
    /// That the caches are so small is believed only where all that the process has taken since its first cache is. By
    /// estimates alone they held up to 48 of 256 MiB at a floor of 4 (costs of 1 for 60,000 bytes, a hundred caches of
    /// few entries, or a monitor for each of 16 caches), and bursts killed processes. So a process whose rest has grown
    /// by more than the floor keeps nothing there.
    func evict(_ bytes: Int, at look: AdmissionLedger.Look) -> Int {
        let announced = state.withLock { $0.announcements.held }
        guard bytes > 0, look.used + announced < look.marks.last else { return evict(bytes) }
        let floor = PressureEpisode.floor(budget: look.reading.leastLimit)
        var held = measure(visitingEntries: false).bytes
        let counted = state.withLock { $0.counted?.held }
        if held - Double(floor) < Double(bytes) || held > Double(counted ?? look.limit) {
            // Entries that have come since may be larger than they are taken for.
            let isNew = state.withLock { state in
                collectSpent(&state)
                return state.countedAt != state.expected
            }
            if isNew { takeCensus(at: now(), .brink) }
            held = bytesHeld(of: look.limit)
        }
        return evict(Int(min(Double(bytes), max(0, held - Double(floor)))))
    }

    /// What the caches hold: as they are measured, all that the process has taken since its first cache at least, and
    /// no more than it has in use. That is by the allocator's count. Where there is none, what is in memory tells of
    /// costs that claim more than the limit, which are no sizes in bytes.
    private func bytesHeld(of limit: Int) -> Double {
        let measured = measure(visitingEntries: false).bytes
        let (counted, before) = state.withLock { ($0.counted?.held, $0.inUseBefore?.held ?? 0) }
        guard let inUse = counted ?? residentBytes() else { return measured }
        let most = counted != nil || measured > Double(limit) ? Double(inUse) : .infinity
        return max(min(measured, most), Double(inUse - before))
    }
}
