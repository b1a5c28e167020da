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
    /// The one that watches this process's real memory; started by the first cache that holds something. A child of
    /// fork has its own, which knows nothing of the caches that the parent had: their locks may be held for ever.
    @usableFromInline package static var shared: MemoryGovernor { perProcess.value }
    private static let perProcess = PerProcess {
        MemoryGovernor(
            monitor: .shared,
            gauge: MemoryGauge(pinnedBytes: { PurgeablePool.shared.usage.pinnedByteCount }),
            warmQueue: PurgeablePool.shared.warmQueue
        )
    }

    /// The governor that reacts to `monitor` and watches this process's memory: one for each monitor, for as long as a
    /// cache keeps it.
    package static func listening(to monitor: MemoryPressureMonitor) -> MemoryGovernor {
        if monitor === MemoryPressureMonitor.shared { return shared }
        return others.withLock { $0[ObjectIdentifier(monitor)]?.governor } ?? MemoryGovernor(monitor: monitor).adopted()
    }

    /// Has caches that listen to this governor's monitor find it, unless they find another already; returns the one
    /// that they find.
    @discardableResult
    package func adopted() -> MemoryGovernor {
        Self.others.withLock { others in
            if let governor = others[ObjectIdentifier(monitor)]?.governor { return governor }
            others[ObjectIdentifier(monitor)] = Weak(self)
            return self
        }
    }

    private final class Weak {
        weak var governor: MemoryGovernor?
        let identity: ObjectIdentifier
        init(_ governor: MemoryGovernor) {
            self.governor = governor
            identity = ObjectIdentifier(governor)
        }
    }

    /// Governors by monitor. Each keeps its monitor, so that no other one takes its place in memory.
    private final class Others: Sendable {
        let governors = ForkSafeMutex<[ObjectIdentifier: Weak]>([:])
    }
    private static let othersPerProcess = PerProcess { Others() }
    private static var others: ForkSafeMutex<[ObjectIdentifier: Weak]> {
        _read { yield othersPerProcess.value.governors }
    }

    /// The governors of the process: the shared one, and those of other monitors that some cache keeps.
    static var all: [MemoryGovernor] { [shared] + others.withLock { $0.values.compactMap(\.governor) } }

    deinit {
        Self.others.withLock { others in
            // By identity: a reference to another governor, taken here, could be its last.
            let key = ObjectIdentifier(monitor)
            if others[key]?.identity == ObjectIdentifier(self) { others[key] = nil }
        }
    }

    struct Member {
        weak var cache: (any ReclaimableCache)?
        let figures: PressureFigures
        var estimate = InsertionEstimate()
        var learnedAt: LearningWindow?
        /// Insertions of that window so far, their costs and what they were charged.
        var insertions = 0
        var costs = 0
        var charged = 0
    }

    /// Where the window began in which a member learns.
    struct LearningWindow {
        var used: Int
        var resident: Int?
        var expected: Int
        var disturbances: Int
        var correction: Int
    }

    /// A cache to take from, held for as long as that lasts.
    struct Participant {
        let cache: any ReclaimableCache
        let figures: PressureFigures
        let bytesPerCost: Double

        /// The price of a byte of real memory.
        var price: Double { cache.marginalPrice / bytesPerCost }
    }

    struct State {
        var members: [ObjectIdentifier: Member] = [:]
        /// Bytes that the process had in use and in memory when the first cache came.
        var inUseBefore: Int?
        var ledger = AdmissionLedger()
        /// Bytes that all insertions so far were charged, and evictions or trims: what learning needs to know a window
        /// by.
        var expected = 0
        /// Those of them that the ledger has not been told of.
        var uncollected = 0
        /// Bytes that all evictions so far have freed.
        var evicted = 0
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
        var pacing = TrimPacing()
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
    /// The process that the thread was asked for in.
    let generation = Atomic(-1)
    /// The fork generation of the process that this governor governs.
    let process = ForkGeneration.current

    /// Bytes that may be granted without another look, and until when.
    private let allowance = Atomic(0)
    private let allowanceEnds = Atomic<UInt64>(0)
    /// When the next look is due, whatever has been granted.
    private let nextLook = Atomic<UInt64>(0)
    /// Bytes spent since the last look.
    let spentSinceLook = Atomic(0)
    /// Bytes granted and not yet reported as spent.
    private let outstanding = Atomic(0)

    /// A governor of its own, for caches that are told of it.
    package init(
        monitor: MemoryPressureMonitor,
        gauge: MemoryGauge = MemoryGauge(),
        now: @escaping @Sendable () -> UInt64 = { Platform.monotonicNanoseconds() },
        trimAllocator: @escaping @Sendable () -> Void = { Platform.trimAllocator() },
        takeCensus: @escaping @Sendable () -> HeapCensus? = { HeapCensus.take() },
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

    /// Whether pressure lasts.
    var isUnderPressure: Bool { hasCeiling.load(ordering: .relaxed) }

    // MARK: Members

    func register(_ cache: any ReclaimableCache, with figures: PressureFigures) {
        let isFirst = state.withLock { state in
            guard !figures.isRegistered.exchange(true, ordering: .acquiringAndReleasing) else { return false }
            state.members[ObjectIdentifier(figures)] = Member(cache: cache, figures: figures)
            return state.members.count == 1
        }
        guard isFirst else { return }
        if state.withLock({ $0.inUseBefore == nil }), let census = takeCensus(), let resident = residentBytes() {
            state.withLock { $0.inUseBefore = resident - census.holes }
        }
        if let warmQueue, let limit = gauge.read(now: now())?.limit { warmQueue.adoptBudget(limit) }
        settle()
    }

    func forget(_ figures: PressureFigures) {
        let isLast = state.withLock { state in
            state.members.removeValue(forKey: ObjectIdentifier(figures)) != nil && state.members.isEmpty
        }
        // Its credits go with it.
        addOutstanding(-figures.outstanding.load(ordering: .relaxed), of: figures)
        if isLast { settle() }
    }

    /// How many caches there are that hold something or have held it.
    package var cacheCount: Int { state.withLock { $0.members.count } }

    /// The caches there are, with what each reports for a byte of real memory.
    func participants() -> [Participant] {
        state.withLock { state in
            state.members.values.compactMap { member in
                guard let cache = member.cache else { return nil }
                return Participant(cache: cache, figures: member.figures, bytesPerCost: member.estimate.bytesPerCost)
            }
        }
    }

    // MARK: Grants

    /// Whether it is so long since usage was looked at that a burst could have reached the brink. Reads the clock (20
    /// to 50 ns): to be asked at every sixteenth insertion.
    @usableFromInline
    package var isLookOverdue: Bool { now() >= nextLook.load(ordering: .relaxed) }

    /// Takes `spent` bytes of a credit of `granted` into account and grants another, evicting first where it must.
    /// `charge` is about what the insertion under way takes.
    func grant(after spent: Int, of granted: Int, charging charge: Int, to figures: PressureFigures) -> Int {
        spentSinceLook.add(spent, ordering: .relaxed)
        let now = self.now()
        let left = allowance.load(ordering: .relaxed)
        if left > 4 << 20, now < allowanceEnds.load(ordering: .relaxed), !isUnderPressure {
            // A 256th of what is left: many shards share an allowance without any of them coming away empty.
            let grant = min(left / 256, 64 << 20)
            allowance.subtract(grant, ordering: .relaxed)
            addOutstanding(grant - granted, of: figures)
            return grant
        }
        addOutstanding(-granted, of: figures)
        // A credit of nothing was never granted, or has been revoked: what it reports is older than this insertion.
        return look(now, for: figures, charging: charge, overrun: granted == 0 ? 0 : max(0, spent - granted))
    }

    /// Bytes that may be inserted without asking again: the credits of all shards, and grants on their way to one.
    package var unspent: Int { outstanding.load(ordering: .relaxed) }

    func addOutstanding(_ bytes: Int, of figures: PressureFigures) {
        figures.outstanding.add(bytes, ordering: .relaxed)
        outstanding.add(bytes, ordering: .relaxed)
    }

    private func look(_ now: UInt64, for figures: PressureFigures, charging charge: Int, overrun: Int) -> Int {
        if generation.load(ordering: .relaxed) != ForkGeneration.current { settle() }
        guard let reading = gauge.read(now: now) else {
            nextLook.store(now &+ 1_000_000, ordering: .relaxed)
            addOutstanding(1 << 20, of: figures)
            return keepBelowCeiling(granting: 1 << 20, to: figures, overrun: overrun, budget: nil)
        }
        let (look, decision, becameTight) = state.withLock { state in
            state.reserve.inserted(charge, by: Platform.currentThreadNumber, limit: reading.limit, now: now)
            let look = state.look(reading, now: now)
            observe(reading, look, by: figures, &state)
            let wasTight = state.isTight
            state.isTight = look.used > look.marks.near
            let decision = state.ledger.admit(look, outstanding: unspent, charging: charge)
            // At once, so that whoever asks next knows of it.
            addOutstanding(decision.grant, of: figures)
            return (look, decision, state.isTight && !wasTight)
        }
        nextLook.store(now &+ look.respite, ordering: .relaxed)
        let isAmple = look.used < look.marks.ample && !isUnderPressure
        allowance.store(isAmple ? look.untilMark / 8 : 0, ordering: .relaxed)
        allowanceEnds.store(now &+ 5_000_000, ordering: .relaxed)
        if becameTight { revokeCredits() }
        carryOut(decision)
        return keepBelowCeiling(granting: decision.grant, to: figures, overrun: overrun, budget: reading.limit)
    }

    /// Takes note of a look: under the lock.
    private func observe(
        _ reading: MemoryGauge.Reading,
        _ look: AdmissionLedger.Look,
        by figures: PressureFigures,
        _ state: inout State
    ) {
        collectSpent(&state)
        state.ledger.observe(look, inserted: state.uncollected)
        state.uncollected = 0
        guard var member = state.members[ObjectIdentifier(figures)] else { return }
        defer { state.members[ObjectIdentifier(figures)] = member }
        member.insertions += figures.insertions.exchange(0, ordering: .relaxed)
        member.costs += figures.costs.exchange(0, ordering: .relaxed)
        member.charged += figures.charged.exchange(0, ordering: .relaxed)
        let own = member.estimate.expected(insertions: member.insertions, costs: member.costs)
        var resident: Int?
        if let before = member.learnedAt, before.correction == reading.correction {
            // A shard reports when its credit is spent, and what it reports may have grown usage long before. So a
            // window must be large beside all that is granted and not reported; growth that is large beside both is
            // news at once.
            let unreported = unspent
            let surprise = 2 * (own + unreported) + (4 << 20)
            let isLarge = own >= max(4 << 20, 4 * unreported)
            let grown = reading.used - before.used
            guard isLarge || grown >= surprise else { return }
            // Usage grows by what others do, too, in this container or on this machine: what this process takes is
            // asked for only now, because it costs five microseconds.
            resident = residentBytes()
            let ownGrowth = resident.flatMap { now in before.resident.map { now - $0 } } ?? grown
            guard isLarge || ownGrowth >= surprise else {
                member.learnedAt?.used = reading.used
                return
            }
            // Others inserted meanwhile: this member's part of the growth is its part of what all were charged.
            let all = max(state.expected - before.expected, member.charged, 1)
            member.estimate.learn(
                insertions: member.insertions,
                costs: Double(member.costs),
                growth: Int(Double(ownGrowth) * Double(member.charged) / Double(all)),
                isUndisturbed: before.disturbances == state.disturbances
            )
            figures.publish(member.estimate)
        }
        member.insertions = 0
        member.costs = 0
        member.charged = 0
        member.learnedAt = .init(
            used: reading.used,
            resident: resident ?? residentBytes(),
            expected: state.expected,
            disturbances: state.disturbances,
            correction: reading.correction
        )
    }

    /// Makes every shard of every cache ask before it inserts again.
    func revokeCredits() {
        allowance.store(0, ordering: .relaxed)
        for participant in participants() {
            addOutstanding(-participant.cache.revokeInsertionCredit(), of: participant.figures)
        }
    }
}
