//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import PurgeableMemory
internal import Synchronization

// What a change of level asks of the caches.
extension MemoryGovernor {
    /// Brings the caches to what `level` leaves them, on the calling thread: content that nobody accesses first, then
    /// the entries worth least, over all caches; then has the memory returned.
    func react(to level: MemoryPressureLevel) {
        let begin = now()
        let holdings = level > .normal ? measure() : [:]
        let floor = PressureEpisode.floor(budget: gauge.read(now: begin)?.leastLimit)
        let (asked, cut) = state.withLock { state in
            let order = state.episode.report(level, holdings: holdings, floor: floor, now: begin)
            hasCeiling.store(state.episode.ceiling != nil, ordering: .relaxed)
            return order
        }
        guard level > .normal else { return }
        warmQueue?.drain()
        revokeCredits()
        guard asked > 0 else { return }
        offerToKernel()
        let discarded = discardUnusedContent()
        let freed = discarded.saturatingAdding(evict(asked - discarded, leaving: cut))
        let reaction = MemoryPressureReaction(
            level: level,
            bytesAsked: asked,
            bytesFreed: freed,
            duration: .nanoseconds(Int64(clamping: max(now(), begin) - begin))
        )
        state.withLock { state in
            state.episode.evicted(asked)
            state.ledger.evicted(freed)
            state.statistics.add(reaction)
        }
        requestTrim()
        MemoryPressureReaction.report(reaction)
    }

    /// What the caches hold beyond what `cut` and the ceiling leave them, by the sizes that are known now.
    func bytesBeyond(_ cut: PressureEpisode.Cut) -> Int {
        let holdings = measure()
        return state.withLock { $0.episode.excess(of: holdings, beyond: cut) }
    }

    /// What the governor has done so far.
    package var statistics: PressureStatistics { state.withLock { $0.statistics } }
}
