//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import Synchronization

/// A cache's membership with the governor.
///
/// A cache makes one at its initialisation or with its first entry (nothing is started or registered) and keeps it;
/// when the cache goes, the membership goes, and the governor forgets both.
@usableFromInline
package final class PressureMembership: Sendable {
    package let governor: MemoryGovernor
    package let figures = PressureFigures()

    /// What an entry without a cost is taken to hold, in bytes: pessimistic at first, then measured.
    @usableFromInline package var bytesPerEntry: Int { figures.bytesPerEntry.load(ordering: .relaxed) }

    @usableFromInline
    package init(governor: MemoryGovernor) { self.governor = governor }

    deinit {
        // A child of fork has no part in its parent's governor.
        if governor.process != ForkGeneration.current { return }
        if figures.isRegistered.load(ordering: .relaxed) { governor.forget(figures) }
    }

    /// Hands in a spent credit and returns the next one, having evicted from the cheapest caches of the process where
    /// there was no room.
    ///
    /// Called by the inserting thread with no lock held. A tenth of a microsecond where there is ample room, one where
    /// usage must be read. Inside an eviction for the process nothing is granted, and nothing evicted.
    @usableFromInline
    package func renew(_ spent: InsertionCredit, for cache: any ReclaimableCache) -> InsertionCredit {
        if !figures.isRegistered.load(ordering: .acquiring) { governor.register(cache, with: figures) }
        let charged = max(0, spent.grantedBytes - spent.remainingBytes)
        // What goes while nothing comes is returned by the allocator, or found by a census.
        let released = min(max(0, spent.released), charged)
        figures.insertions.add(Int(spent.insertions), ordering: .relaxed)
        figures.costs.add(spent.costs, ordering: .relaxed)
        figures.charged.add(charged, ordering: .relaxed)
        let grant =
            ProcessEviction.isRunning
            ? governor.postpone(after: charged, releasing: released, of: spent.grantedBytes, to: figures)
            : governor.grant(
                after: charged,
                releasing: released,
                of: spent.grantedBytes,
                charging: charged / max(1, Int(spent.insertions)),
                to: figures
            )
        return InsertionCredit(
            grantedBytes: grant,
            leastCharge: figures.leastCharge.load(ordering: .relaxed),
            isNearMark: governor.isNearMark.load(ordering: .relaxed),
            isScarce: governor.isScarce.load(ordering: .relaxed)
        )
    }

    /// What the governor has asked of the cache, and what the cache gave.
    func write(to statistics: inout CacheStatistics) {
        statistics.bytesAskedUnderPressure = figures.bytesAsked.load(ordering: .relaxed)
        statistics.bytesReturnedUnderPressure = figures.bytesReturned.load(ordering: .relaxed)
    }
}

/// What a cache and the governor tell each other, in atomics that both own: the governor may look at a cache's figures
/// while the cache is going away.
package final class PressureFigures: Sendable {
    /// Insertions, their costs and what they were charged since the governor last learned from them.
    let insertions = Atomic(0)
    let costs = Atomic(0)
    let charged = Atomic(0)
    /// Bytes granted to this cache and not yet reported as spent.
    let outstanding = Atomic(0)
    let isRegistered = Atomic(false)
    /// Published by the governor: see ``InsertionEstimate``.
    let leastCharge = Atomic(Int(InsertionEstimate.pessimistic))
    let bytesPerEntry = Atomic(Int(InsertionEstimate.pessimistic))
    /// Bytes that the governor has asked this cache to give back, and bytes that the cache said it gave.
    let bytesAsked = Atomic(0)
    let bytesReturned = Atomic(0)
    /// The bits of the price that the cache named last, and when; see ``MemoryGovernor/Participant/price(at:)``.
    let price = Atomic<UInt64>(0)
    let pricedAt = Atomic<UInt64>(0)
    /// How far prices may be apart and count as one: the bits of an eighth of what one entry is worth.
    let tolerance = Atomic<UInt64>(0)
    /// The bits of the clock of sales that this cache has caught up with.
    let caughtUp = Atomic<UInt64>(0)
    let position = ForkSafeMutex(SellingPosition())

    func publish(_ estimate: InsertionEstimate) {
        leastCharge.store(estimate.leastCharge, ordering: .relaxed)
        bytesPerEntry.store(Int(estimate.residentBytes), ordering: .relaxed)
    }
}
