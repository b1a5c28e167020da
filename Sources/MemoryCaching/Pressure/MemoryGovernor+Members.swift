//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import PurgeableMemory
internal import Synchronization

// The caches that a governor keeps, weakly.
extension MemoryGovernor {
    /// A cache that holds something or has held it.
    struct Member {
        weak var cache: (any ReclaimableCache)?
        let figures: PressureFigures
        var estimate = InsertionEstimate()
        var window = LearningWindow()
    }

    /// A cache to take from, held for as long as that lasts.
    struct Participant {
        let cache: any ReclaimableCache
        let figures: PressureFigures
        let bytesPerCost: Double

        /// The price of a byte of real memory, as the cache names it now, by the clock of sales that stands at `clock`.
        func price(at now: UInt64, clock: Double) -> Double { price(of: cache.sellingPoint, at: now, clock: clock) }

        func price(of point: SellingPoint, at now: UInt64, clock: Double) -> Double {
            let price = figures.position.withLock { $0.price(of: point, bytesPerCost: bytesPerCost, now: clock) }
            // One that has nothing to sell may have something the next moment.
            figures.price.store(price.bitPattern, ordering: .relaxed)
            figures.pricedAt.store(price.isFinite ? now : 0, ordering: .relaxed)
            figures.tolerance.store((point.worth / bytesPerCost / 8).bitPattern, ordering: .relaxed)
            return price
        }

        /// Prices this far above this cache's count as its own.
        var tolerance: Double { Double(bitPattern: figures.tolerance.load(ordering: .relaxed)) }

        /// The same, or what the cache named less than a millisecond ago: a price takes a look at every shard of it,
        /// and twenty caches were asked before each eviction of some entries from one.
        func latePrice(at now: UInt64, clock: Double) -> Double {
            let asked = figures.pricedAt.load(ordering: .relaxed)
            guard asked != 0, now &- asked < 1_000_000 else { return price(at: now, clock: clock) }
            return Double(bitPattern: figures.price.load(ordering: .relaxed))
        }
    }

    func register(_ cache: any ReclaimableCache, with figures: PressureFigures) {
        let isFirst = state.withLock { state in
            guard !figures.isRegistered.exchange(true, ordering: .acquiringAndReleasing) else { return false }
            state.members[ObjectIdentifier(figures)] = Member(cache: cache, figures: figures)
            return state.members.count == 1
        }
        guard isFirst else { return }
        noteInUseBefore()
        if let warmQueue, let limit = gauge.read(now: now())?.limit { warmQueue.adoptBudget(limit) }
        settle()
    }

    /// Notes what the process uses without any cache, where that costs little time: it grows with all else that the
    /// process allocates, which would be taken for what the entries of the next first cache hold.
    private func noteInUseBefore() {
        let begin = now()
        guard state.withLock({ $0.registrationPacing.begins(at: begin, .announced) }),
            let census = takeCensus(), let resident = residentBytes()
        else { return }
        let others = holdingsOfOtherGovernors().reduce(0) { $0 + $1.holding.bytes }
        let end = max(now(), begin)
        state.withLock { state in
            state.registrationPacing.finished(at: end)
            let inUse = resident - census.holes
            let own = max(0, inUse - Int(min(others, 0x1p60)))
            state.inUseBefore = HeapCensus(
                held: own,
                holes: census.holes,
                heldBesidePages: max(0, own - max(0, inUse - census.heldBesidePages))
            )
        }
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

    /// The other governors of the process: those that read the same figures.
    var otherGovernors: [MemoryGovernor] { Self.all.filter { $0 !== self && $0.gauge.root == gauge.root } }

    /// What the caches of the process hold now, of all governors: to each the insertions of the others' caches are
    /// growth that it has no account of.
    func cacheHoldings() -> CacheHoldings {
        var holdings = CacheHoldings()
        for governor in [self] + otherGovernors {
            for participant in governor.participants() {
                let (entries, costs) = participant.cache.holdings
                holdings[ObjectIdentifier(participant.figures)] = CacheHoldings.Holding(
                    entries: entries,
                    costs: costs,
                    bytesPerEntry: Double(participant.figures.bytesPerEntry.load(ordering: .relaxed)),
                    bytesPerCost: participant.bytesPerCost
                )
            }
        }
        return holdings
    }
}
