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
    /// that all end at one price. The caches that were not asked learn that price, so that they age by one clock.
    ///
    /// What entries without a cost hold is an estimate, and one of the past where sizes have changed: a thousand values
    /// of 64 KiB would all go for 1.5 MiB if they were taken for the 300 bytes of those before. So a quarter of a
    /// cache's entries goes at most before the allocator is asked what the rest hold in truth. Smaller evictions do
    /// not ask.
    @discardableResult
    func evict(_ bytes: Int) -> Int {
        guard bytes > 0 else { return 0 }
        let begin = now()
        var sellers = participants()
        // Asked for once, and then of whoever has sold: the others' change little meanwhile. A price takes a look at
        // every shard, and nobody's matters where there is one seller.
        var prices = sellers.count == 1 ? [0] : sellers.map { $0.latePrice(at: begin) }
        var freed = 0
        var lastPrice = -Double.infinity
        state.withLock { $0.disturbances += 1 }
        while freed < bytes, !sellers.isEmpty {
            guard let cheapest = prices.indices.min(by: { prices[$0] < prices[$1] }), prices[cheapest].isFinite else {
                break
            }
            let seller = sellers[cheapest]
            let second = prices.indices.lazy.filter { $0 != cheapest }.map { prices[$0] }.min() ?? .infinity
            // Chunks of an eighth: the price rises while one sells, and its lock is not held for all of it.
            let whole = sellers.count == 1 ? bytes - freed : min(bytes - freed, max(64 << 10, bytes / 8))
            let chunk = min(whole, seller.bytesOfQuarter)
            let asked = max(1, Int(Double(chunk) / seller.bytesPerCost))
            let given = seller.cache.evict(bytes: asked, below: second * seller.bytesPerCost)
            seller.figures.bytesAsked.add(asked, ordering: .relaxed)
            seller.figures.bytesReturned.add(given, ordering: .relaxed)
            freed += Int(min(Double(given) * seller.bytesPerCost, 1e18))
            if chunk < whole { takeCensus(at: now(), isUrgent: true) }
            lastPrice = max(lastPrice, prices[cheapest])
            // What was asked before may have been an old price, if the cache was in use. One that would not sell at its
            // own price has nothing to sell.
            let price = sellers.count == 1 ? 0 : seller.price(at: begin)
            if given > 0 || price > prices[cheapest] && price.isFinite {
                prices[cheapest] = price
            } else {
                sellers.remove(at: cheapest)
                prices.remove(at: cheapest)
            }
        }
        if lastPrice.isFinite, sellers.count > 1 {
            for (seller, price) in zip(sellers, prices) where price >= lastPrice {
                seller.cache.raisePrice(to: lastPrice * seller.bytesPerCost)
            }
        }
        let nanoseconds = max(now(), begin) - begin
        state.withLock { state in
            state.evicted += freed
            state.reserve.evicted(freed, in: nanoseconds)
        }
        return freed
    }

    /// Does what the ledger decided: evicts, has memory returned, and waits for that at the brink.
    func carryOut(_ decision: AdmissionLedger.Decision) {
        if decision.evict > 0 {
            let freed = evict(decision.evict)
            state.withLock { $0.ledger.evicted(freed, asked: decision.evict) }
        }
        if decision.waits {
            stepBackFromBrink()
        } else if decision.trims {
            requestTrim()
        }
    }

    /// Brings usage from the brink half way back to the mark, so that the next step is not there again: by returning
    /// what is free, and where that is not enough by evicting more, twice as much each time.
    ///
    /// Where values of many ages share their pages, the allocator can return nothing however much is evicted. What is
    /// free is then room for the insertions to come, and four times what is missing is enough of it. But in the last
    /// thirty-second before the limit eviction goes on whatever it costs.
    private func stepBackFromBrink() {
        let isFirst = state.withLock { state in
            defer { state.isAtBrink = true }
            return !state.isAtBrink
        }
        guard isFirst else { return awaitStepBack() }
        defer { state.withLock { $0.isAtBrink = false } }
        for round in 0..<16 {
            trimNow()
            let now = self.now()
            guard let reading = gauge.read(now: now, exact: true) else { return }
            let look = state.withLock { $0.look(reading, now: now) }
            let target = look.marks.halfway
            guard look.used > target else { return }
            if round > 0 {
                takeCensus(at: now, isUrgent: true)
                let holes = state.withLock { $0.ledger.holes }
                if look.used < look.marks.last, holes >= 4 * (look.used - target) { return }
            }
            let asked = max(look.used - target, look.marks.leastStep << min(round, 8))
            let freed = (round == 0 ? discardUnusedContent() : 0) + evict(asked)
            state.withLock { $0.ledger.evicted(freed) }
            if freed == 0 { return }
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
            let bytes = participant.cache.discardUnusedContent()
            participant.figures.bytesReturned.add(bytes, ordering: .relaxed)
            freed += Int(min(Double(bytes) * participant.bytesPerCost, 1e18))
        }
        return freed
    }
}

extension MemoryGovernor.Participant {
    /// What a quarter of the entries is taken to hold, where that is an estimate.
    fileprivate var bytesOfQuarter: Int {
        let entries = cache.holdings.entries
        guard entries > 0 else { return .max }
        let bytesPerEntry = figures.bytesPerEntry.load(ordering: .relaxed)
        let (bytes, overflow) = max(1, entries / 4).multipliedReportingOverflow(by: bytesPerEntry)
        return overflow ? .max : bytes
    }
}
