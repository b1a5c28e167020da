//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import MemoryPressure
internal import Synchronization

// Taking from whichever cache sells cheapest, and what a decision of the ledger asks for beyond that.
extension MemoryGovernor {
    /// Evicts about `bytes` of real memory from the cheapest caches of the process; returns about how many went.
    ///
    /// Takes in chunks from the cache whose next byte is the cheapest, down to the price of the second cheapest, so
    /// that all end at one price. All caches learn that price, so that they age by one clock.
    ///
    /// What entries without a cost hold is an estimate, and one of the past where sizes have changed: a thousand values
    /// of 64 KiB would all go for 1.5 MiB if they were taken for the 300 bytes of those before. So a quarter of a
    /// cache's entries goes at most before the allocator is asked what the rest hold in truth. Smaller evictions do
    /// not ask.
    ///
    /// - Parameter cut: what is to be left, where that is a part of what the caches hold: how many bytes are to go
    ///   changes with what the allocator says. Nil where so much memory is needed, whatever sizes turn out to be.
    @discardableResult
    func evict(_ needed: Int, leaving cut: PressureEpisode.Cut? = nil) -> Int {
        var bytes = needed
        guard bytes > 0 else { return 0 }
        let begin = now()
        var all = participants()
        var sellers = all
        // Asked for once, and then of whoever has sold: the others' change little meanwhile. A price takes a look at
        // every shard, and nobody's matters where there is one seller.
        var prices = all.count == 1 ? [0] : all.map { $0.latePrice(at: begin, clock: clock) }
        var freed = 0
        var (moved, mostMoved) = (0, 0.0)
        state.withLock { $0.disturbances += 1 }
        while freed < bytes, !sellers.isEmpty {
            guard let sale = chooseSeller(sellers, prices) else { break }
            let seller = sellers[sale.index]
            // Chunks of a 32nd: the price rises while one sells, and where it does not, chance decides who sells next.
            let whole = sellers.count == 1 ? bytes - freed : min(bytes - freed, max(64 << 10, bytes / 32))
            let chunk = min(whole, seller.bytesOfQuarter)
            let (given, charged) = sell(
                max(1, Int(Double(chunk) / seller.bytesPerCost)),
                of: seller,
                below: sale.limit
            )
            let gone = Int(min(Double(given) * seller.bytesPerCost, 1e18))
            // What is not measured yet is charged far more than it takes.
            let inserted = min(charged, gone)
            freed = freed.saturatingAdding(gone - inserted)
            if inserted > 0 {
                moved = moved.saturatingAdding(inserted)
                if mostMoved == 0 { mostMoved = all.reduce(0) { $0 + $1.realBytes } }
                // The handler may have been the first to insert into a cache.
                let known = Set(all.map { ObjectIdentifier($0.figures) })
                let others = participants().filter { !known.contains(ObjectIdentifier($0.figures)) }
                all += others
                sellers += others
                prices += others.map { $0.price(at: begin, clock: clock) }
            }
            if chunk < whole {
                takeCensus(at: now(), .brink)
                if let cut { bytes = freed.saturatingAdding(bytesBeyond(cut)) }
            }
            // What was asked before may have been an old price, if the cache was in use. One that would not sell at its
            // own price has nothing to sell. A handler may put into another cache what has left, where it is for sale
            // again; but once everything has been moved, none moves any more.
            let price = all.count == 1 ? 0 : priceAfterSale(of: given, by: seller, at: prices[sale.index], begin)
            let hasSold = gone > inserted || inserted > 0 && Double(moved) < mostMoved
            if hasSold || inserted == 0 && price > prices[sale.index] && price.isFinite {
                prices[sale.index] = price
            } else {
                sellers.remove(at: sale.index)
                prices.remove(at: sale.index)
            }
        }
        if all.count > 1 { for participant in all { catchUp(participant) } }
        let nanoseconds = max(now(), begin) - begin
        state.withLock { state in
            state.reserve.evicted(freed, in: nanoseconds)
        }
        return freed
    }

    /// GreedyDual's L for all caches together.
    private var clock: Double { Double(bitPattern: saleClock.load(ordering: .relaxed)) }

    /// The cache to sell next, and the price up to which it may; nil where none has anything.
    ///
    /// Entries that came in within one turnover have one price, in all caches alike. So where several caches sell at
    /// one price, chance decides in proportion to what they hold: each sold out before the next, all would be empty in
    /// turn.
    private func chooseSeller(_ sellers: [Participant], _ prices: [Double]) -> (index: Int, limit: Double)? {
        guard let cheapest = prices.indices.min(by: { prices[$0] < prices[$1] }), prices[cheapest].isFinite else {
            return nil
        }
        let level = prices[cheapest] + sellers[cheapest].tolerance
        let equals = prices.indices.filter { prices[$0] <= level }
        guard equals.count > 1 else { return (cheapest, prices.filter { $0 > level }.min() ?? .infinity) }
        let held = equals.map { max(1, sellers[$0].realBytes) }
        var random = sales.add(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
        random ^= random >> 32
        random = random &* 0xD6E8_FEB8_6659_FD93
        var left = Double(random >> 11) * 0x1p-53 * held.reduce(0, +)
        for (index, bytes) in zip(equals, held) {
            left -= bytes
            if left < 0 { return (index, level) }
        }
        return (cheapest, level)
    }

    /// Has `seller` evict `bytes`, as it counts them, at `price` at most; returns what that freed, and the bytes that
    /// removal handlers inserted meanwhile.
    private func sell(_ bytes: Int, of seller: Participant, below price: Double) -> (given: Int, inserted: Int) {
        var height = Double.infinity
        if price.isFinite {
            let point = seller.cache.sellingPoint
            height = seller.figures.position.withLock {
                $0.height(at: price, of: point, bytesPerCost: seller.bytesPerCost)
            }
        }
        let (given, inserted) = ProcessEviction.run { seller.cache.evict(bytes: bytes, below: height) }
        seller.figures.bytesAsked.saturatingAdd(bytes)
        seller.figures.bytesReturned.saturatingAdd(given)
        return (given, inserted)
    }

    /// What `seller` asks for its next byte, having sold `given` of them at `price`; the clock proceeds.
    private func priceAfterSale(of given: Int, by seller: Participant, at price: Double, _ now: UInt64) -> Double {
        let point = seller.cache.sellingPoint
        if given > 0 {
            let reached = seller.figures.position.withLock { $0.sold(at: price, point) }
            if reached.isFinite, reached > clock { _ = saleClock.max(reached.bitPattern, ordering: .relaxed) }
        }
        return seller.price(of: point, at: now, clock: clock)
    }

    /// Has what comes into `participant` from now on come in at the price that the process has reached.
    private func catchUp(_ participant: Participant) {
        let clock = self.clock
        let position = participant.figures
        // Most evictions move the clock by little.
        guard clock - Double(bitPattern: position.caughtUp.load(ordering: .relaxed)) > participant.tolerance else {
            return
        }
        position.caughtUp.store(clock.bitPattern, ordering: .relaxed)
        let point = participant.cache.sellingPoint
        let step = position.position.withLock {
            $0.catchUp(point, bytesPerCost: participant.bytesPerCost, now: clock)
        }
        guard let step else { return }
        let reached = participant.cache.age(by: step)
        if case .byUse = point.aging { position.position.withLock { $0.note(uses: reached, now: clock) } }
    }

    /// Does what the ledger decided: evicts, has memory returned, and waits for that at the brink.
    ///
    /// - Parameter makingRoom: whether to wait until the whole reserve is free again instead, see ``State/hasRisen``.
    func carryOut(_ decision: AdmissionLedger.Decision, at look: AdmissionLedger.Look, makingRoom: Bool = false) {
        if decision.evict > 0 {
            let freed = evict(decision.evict, at: look)
            state.withLock { $0.ledger.evicted(freed, asked: decision.evict) }
        }
        if makingRoom {
            makeRoom(waiting: true)
            state.withLock { $0.hasRisen = false }
        } else if decision.waits {
            stepBackFromBrink(at: look)
        } else if decision.trims || decision.trimsIfCheap && mayTrimForLittle {
            requestTrim()
        }
    }

    /// Whether so little time went into trims lately that free memory may be returned for a little, too.
    private var mayTrimForLittle: Bool {
        let now = self.now()
        return state.withLock { $0.pacing.allowsForLittle(at: now) }
    }

    /// Brings usage from the brink half way back to the mark, so that the next step is not there again: by returning
    /// what is free, and where that is not enough by evicting more, twice as much each time.
    ///
    /// Where values of many ages share their pages, the allocator can return nothing however much is evicted. What is
    /// free is then room for the insertions to come, and four times what is missing is enough of it. But in the last
    /// thirty-second before the limit eviction goes on whatever it costs. Where the last step brought little, the next
    /// one waits: see ``ReliefPacing``.
    private func stepBackFromBrink(at first: AdmissionLedger.Look) {
        let begin = now()
        let (mayHelp, isFirst) = state.withLock { state in
            guard state.brinkPacing.mayHelp(first, now: begin) else { return (false, false) }
            defer { state.isAtBrink = true }
            return (true, !state.isAtBrink)
        }
        guard mayHelp else { return }
        guard isFirst else { return awaitStepBack() }
        var last = first
        defer {
            let end = now()
            state.withLock { state in
                state.brinkPacing.tried(last, bringing: first.used - last.used, from: begin, to: end)
                state.isAtBrink = false
            }
        }
        for round in 0..<16 {
            trimNow()
            let now = self.now()
            guard let reading = gauge.read(now: now, exact: true) else { return }
            last = state.withLock { $0.look(reading, now: now) }
            let target = last.marks.halfway
            guard last.used > target else { return }
            if round > 0 {
                takeCensus(at: now, .brink)
                let holes = state.withLock { $0.ledger.holes }
                if last.used < last.marks.last, holes >= 4 * (last.used - target) { return }
            }
            let asked = max(last.used - target, last.marks.leastStep << min(round, 8))
            // What the kernel may take is a reason to look again, but nothing that lies free in the heap.
            let offered = round == 0 ? offerToKernel() : 0
            let freed = (round == 0 ? discardUnusedContent() : 0).saturatingAdding(evict(asked, at: last))
            state.withLock { $0.ledger.evicted(freed) }
            if offered == 0, freed == 0 { return }
        }
    }

    /// Waits until the thread that steps back from the brink is done: whoever went on inserting would outrun it. 200 ms
    /// at most, because it runs removal handlers, which may be waiting for this thread.
    private func awaitStepBack() {
        let begin = now()
        repeat { trimNow() } while state.withLock({ $0.isAtBrink }) && now() &- begin < 200_000_000
    }

    /// Discards content that nobody accesses, in all caches; returns about how many bytes that freed.
    func discardUnusedContent() -> Int {
        var freed = 0
        for participant in participants() {
            let (given, charged) = ProcessEviction.run { participant.cache.discardUnusedContent() }
            participant.figures.bytesReturned.saturatingAdd(given)
            let gone = Int(min(Double(given) * participant.bytesPerCost, 1e18))
            freed = freed.saturatingAdding(gone - min(charged, gone))
        }
        return freed
    }

    /// Lets the kernel have what the caches are filling; returns how many bytes it may take from now on.
    @discardableResult
    func offerToKernel() -> Int {
        participants().reduce(0) { offered, participant in
            offered.saturatingAdding(ProcessEviction.run { participant.cache.offerToKernel() }.result)
        }
    }
}

extension MemoryGovernor.Participant {
    /// About what the cache holds.
    var realBytes: Double {
        let (entries, costs) = cache.holdings
        return Double(entries) * Double(figures.bytesPerEntry.load(ordering: .relaxed)) + Double(costs) * bytesPerCost
    }

    /// What a quarter of the entries is taken to hold, where that is an estimate.
    fileprivate var bytesOfQuarter: Int {
        let entries = cache.holdings.entries
        guard entries > 0 else { return .max }
        let bytesPerEntry = figures.bytesPerEntry.load(ordering: .relaxed)
        let (bytes, overflow) = max(1, entries / 4).multipliedReportingOverflow(by: bytesPerEntry)
        return overflow ? .max : bytes
    }
}
