//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
package import MemoryPressure
package import PurgeableMemory
internal import Synchronization

/// Keeps the caches of the process within the memory there is, and gives memory back when it runs short.
///
/// # Why the inserting thread looks
/// At 1 GB/s every notification of the kernel's comes at the limit, some milliseconds before the process is killed. So
/// whoever inserts looks at usage first, at most every few hundred kilobytes, and evicts *before* it inserts where
/// usage is beyond the mark (`MemoryMarks`). Notifications serve the rest: memory that others take, in this process or
/// beside it, and levels of pressure that usage alone does not tell.
///
/// # Invariants
/// - Nobody runs user code under a lock: ``State`` is changed under the mutex, and what follows from it (evictions,
///   removal handlers, log hooks) happens after.
/// - While there is ample room a grant takes no lock: it is deducted from ``allowance``, of which each look leaves an
///   eighth of the room, and which is void after 5 ms.
/// - A grant is in bytes, and bytes are an estimate where no cost is given: values may become a hundred times as large
///   from one insertion to the next. So a grant also ends with time: before a burst could have reached the brink.
/// - What is granted and not yet spent is never more than half the room that there was when it was granted; when
///   memory gets short all of it is revoked. So all shards of all caches together cannot outrun the last eighth.
/// - `normal` never evicts. A level above it sets a ceiling for what the caches hold together, which stays until the
///   level is normal again: see ``PressureEpisode``.
/// - The governor keeps caches weakly; an empty registry keeps no thread and no observation.
@usableFromInline
package final class MemoryGovernor: Sendable {
    struct State {
        var members: [ObjectIdentifier: Member] = [:]
        /// What the process had in use and in memory when a cache came last while there was no other.
        var inUseBefore: HeapCensus?
        /// When ``inUseBefore`` is noted again.
        var registrationPacing = CensusPacing()
        /// What the last census counted.
        var counted: HeapCensus?
        var ledger = AdmissionLedger()
        /// Bytes that all insertions so far were charged, and evictions or trims: what learning needs to know a window
        /// by.
        var expected = 0
        /// Those of them that the ledger has not been told of.
        var uncollected = 0
        /// And what the entries were charged that have gone for them.
        var uncollectedReleases = 0
        /// What all insertions had been charged when the allocator was last asked.
        var countedAt: Int?
        var heldBytes = HeldBytes()
        var reserve = ReserveEstimate()
        var announcements = Announcements()
        var watch = UsageWatch()
        var disturbances = 0
        var episode = PressureEpisode()
        var observation: MemoryPressureObservation?
        /// Whether the last look found usage near the mark.
        var isTight = false
        /// Whether some thread is at work at the brink.
        var isAtBrink = false
        /// Whether some thread makes room.
        var isMakingRoom = false
        /// Whether an insertion has found usage far beyond the mark by growth that no charge explains, and room is not
        /// made yet: values may be much larger than those before.
        var hasRisen = false
        var pacing = TrimPacing()
        /// Of room that the thread makes, and of steps back from the brink.
        var roomPacing = ReliefPacing()
        var brinkPacing = ReliefPacing()
        var censusPacing = CensusPacing()
        var statistics = PressureStatistics()
    }

    let monitor: MemoryPressureMonitor
    let gauge: MemoryGauge
    let now: @Sendable () -> UInt64
    let trimAllocator: @Sendable () -> Void
    let takeCensus: @Sendable () -> HeapCensus?
    let residentBytes: @Sendable () -> Int?
    /// Purgeable values that could be sealed.
    let warmQueue: WarmQueue?
    let state = ForkSafeMutex(State())
    /// Trims done so far; those who wait at the brink wait for it.
    let trims = CompletionCounter()
    let isTrimWanted = Atomic(false)
    let waiting = Atomic(0)
    /// Whether there is a ceiling; read on every look.
    let hasCeiling = Atomic(false)
    /// Whether memory is announced; read on every look.
    let isAnnounced = Atomic(false)
    /// The process that the thread was asked for in.
    let generation = Atomic(-1)
    /// The fork generation of the process that this governor governs.
    let process = ForkGeneration.current

    /// Whether usage was near the mark when it was last looked at.
    let isNearMark = Atomic(false)
    /// Whether it was beyond three quarters of the mark.
    let isScarce = Atomic(false)
    /// Whether the nearest limit counted what is mapped: then volatile pages, too, are for sale.
    let countsMapped = Atomic(false)
    /// Whether any limit did: then volatile pages, too, are charged.
    let isMappingLimited = Atomic(false)
    /// Bytes that may be granted without another look, and until when.
    let allowance = Atomic(0)
    let allowanceEnds = Atomic<UInt64>(0)
    /// When the next look is due, whatever has been granted.
    let nextLook = Atomic<UInt64>(0)
    /// Bytes spent since the last look, and what entries were charged that have gone meanwhile.
    let spentSinceLook = Atomic(0)
    let releasedSinceLook = Atomic(0)
    /// The bits of the highest price at which a byte was sold while there were several caches; see
    /// ``SellingPosition``.
    let saleClock = Atomic<UInt64>(0)
    /// Sales so far: which of equally cheap caches sells is drawn by their number.
    let sales = Atomic<UInt64>(0)
    /// Bytes granted and not yet reported as spent.
    let outstanding = Atomic(0)

    /// A governor of its own, for caches that are told of it.
    package init(
        monitor: MemoryPressureMonitor,
        gauge: MemoryGauge = MemoryGauge(),
        now: @escaping @Sendable () -> UInt64 = { Platform.monotonicNanoseconds() },
        trimAllocator: @escaping @Sendable () -> Void = { Platform.trimAllocator() },
        takeCensus: @escaping @Sendable () -> HeapCensus? = {
            HeapCensus.take(beside: PurgeablePool.shared.usage.pageByteCount)
        },
        residentBytes: @escaping @Sendable () -> Int? = { HeapCensus.residentBytes() },
        warmQueue: WarmQueue? = nil
    ) {
        self.warmQueue = warmQueue
        self.monitor = monitor
        self.gauge = gauge
        self.now = now
        self.trimAllocator = trimAllocator
        self.takeCensus = takeCensus
        self.residentBytes = residentBytes
    }

    deinit { forgetAdoption() }

    /// Whether pressure lasts.
    var isUnderPressure: Bool { hasCeiling.load(ordering: .relaxed) }
}
