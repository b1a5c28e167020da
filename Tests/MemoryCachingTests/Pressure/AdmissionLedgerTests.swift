//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite struct AdmissionLedgerTests {
    @Test func holesThatAreFilledAgainLeaveTheCacheFullAndTheAllocatorAlone() {
        var process = ModelProcess()
        process.fill(2 << 30, threads: 1)
        #expect(process.highest <= process.look.marks.mark + process.limit / 64)
        #expect(process.live >= process.limit * 3 / 4)
        #expect(process.trims <= 3)
    }

    @Test(arguments: [0.0, 0.5, 0.9]) func holesInOtherArenasAreReturnedRatherThanEverythingEvicted(fillable: Double) {
        var process = ModelProcess(arenas: 2)
        process.fillable = fillable
        process.fill(1 << 30, threads: 1)
        #expect(process.highest <= process.limit)
        #expect(process.live >= process.limit / 2, "\(process.live >> 20) MiB live, \(process.trims) trims")
        #expect(process.trims > 0)
    }

    /// Two threads of which now one inserts twice as fast, now the other, and nothing that a trim could return: the
    /// arena of each grows to the most that it ever held. With one hole for each byte beyond the mark usage went 18 MiB
    /// beyond, to where half of a burst's reserve is gone.
    @Test func threadsThatChangeTheirSpeedsCarryUsageALittleBeyondTheMark() {
        var process = ModelProcess(arenas: 2)
        process.keepsToArenas = true
        process.returnable = 0
        for turn in 0..<40 {
            // At the brink grants are of a byte, and nothing would end.
            var left = 128 << 20
            for _ in 0..<10_000 where left > 0 {
                for (thread, share) in [(turn % 2, 1.0), (1 - turn % 2, 0.5)] {
                    let bytes = Int(Double(process.ask()) * share)
                    process.insert(thread: thread, bytes: bytes)
                    left -= bytes
                }
            }
        }
        let beyond = process.highest - process.look.marks.mark
        #expect(beyond <= process.limit / 24, "\(beyond >> 10) KiB beyond, \(process.live >> 20) MiB live")
        #expect(process.live >= process.limit / 2, "\(process.live >> 20) MiB live")
    }

    @Test(arguments: [0.0, 0.1, 0.3]) func whenATrimBringsLittleTheLimitStillHolds(returnable: Double) {
        var process = ModelProcess(arenas: 2)
        process.returnable = returnable
        process.fillable = 0.8
        process.fill(1 << 30, threads: 2)
        #expect(process.highest <= process.limit)
        #expect(process.live > 0 || process.returnable == 0)
    }

    /// Values turn out eight times as large as what was charged for them: one grant's worth of error, no more.
    @Test func undercountedInsertionsStayBelowTheLimit() {
        var process = ModelProcess()
        process.fill(1 << 30, threads: 4, grantSpeed: 8)
        #expect(process.highest <= process.limit)
    }

    /// 3 GB/s beside the cache: 30 MiB between two looks 10 ms apart, 3 MiB between two at the mark.
    @Test func aNeighboursBurstTakesFromTheCacheAndNotBeyondTheLimit() {
        var process = ModelProcess()
        process.fill(512 << 20, threads: 1)
        let before = process.live
        for _ in 0..<40 {
            process.used += 3 << 20
            process.highest = max(process.highest, process.used)
            process.ledger.observe(process.look, inserted: 0)
            process.carryOut(process.ledger.relieve(process.look))
        }
        #expect(process.highest <= process.limit)
        #expect(process.live < before - 100 << 20)
        #expect(process.live > 0)
        #expect(process.used <= process.look.marks.brink)
    }

    /// Usage that does not fall however much is evicted must not cost the whole cache, short of the brink.
    @Test func usageThatStaysPutDoesNotEmptyTheCache() {
        var process = ModelProcess()
        process.returnable = 0
        process.fill(300 << 20, threads: 1)
        process.used = process.look.marks.mark + process.limit / 32
        let before = process.live
        for _ in 0..<1000 {
            process.ledger.observe(process.look, inserted: 0)
            process.carryOut(process.ledger.relieve(process.look))
        }
        #expect(process.live >= before - process.limit / 16)
    }

    @Test func aLimitThatShrinksBelowUsageIsReached() {
        var process = ModelProcess()
        process.fill(512 << 20, threads: 1)
        process.limit = 128 << 20
        for _ in 0..<100 {
            process.ledger.observe(process.look, inserted: 0)
            process.carryOut(process.ledger.relieve(process.look))
        }
        #expect(process.used <= process.look.marks.brink)
        #expect(process.live > 32 << 20)
    }

    /// However small the grants are, of a thousand shards that share the play, the insertions that they are for make an
    /// eviction each 2,048th of the limit, and not each its own.
    @Test func smallGrantsAreEvictedForTogether() {
        var ledger = AdmissionLedger(countsOnRelease: true)
        let look = AdmissionLedger.Look(limit: 256 << 20, used: 224 << 20)
        var (granted, evicted, evictions) = (0, 0, 0)
        _ = ledger.admit(look, outstanding: look.marks.play)
        for _ in 0..<10_000 {
            let decision = ledger.admit(look, outstanding: look.marks.play)
            ledger.observe(look, inserted: decision.grant)
            granted += decision.grant
            evicted += decision.evict
            evictions += decision.evict > 0 ? 1 : 0
        }
        #expect(granted == 10_000 * 4 << 10)
        #expect(evicted >= granted - 1 << 20 && evicted <= granted + 1 << 20)
        #expect(evictions <= granted / AdmissionLedger.leastEviction(look.limit) + 1)
    }

    /// Eight bytes of holes are asked for each byte beyond the mark where values are small. A trim, where it is cheap,
    /// brings usage back, so that they need not be kept for ever.
    @Test func aLittleBeyondTheMarkIsReturnedWhereThatIsCheap() {
        let limit = 256 << 20
        let mark = AdmissionLedger.Look(limit: limit, used: 0).marks.mark
        func decision(beyond: Int, charging charge: Int) -> AdmissionLedger.Decision {
            var ledger = AdmissionLedger(countsOnRelease: true)
            return ledger.admit(.init(limit: limit, used: mark + beyond), outstanding: 0, charging: charge)
        }
        let small = decision(beyond: 1 << 20, charging: 100)
        #expect(small.trimsIfCheap && !small.trims)
        #expect(!decision(beyond: 1 << 20, charging: 64 << 10).trimsIfCheap)
        #expect(!decision(beyond: 1 << 18, charging: 100).trimsIfCheap)
        #expect(!decision(beyond: 0, charging: 100).trimsIfCheap)
        #expect(decision(beyond: 4 << 20, charging: 100).trims)
    }

    /// Values in place of others, at the mark: each fills a hole and leaves one, so nothing goes for them.
    @Test(arguments: [false, true]) func whatIsReplacedFillsNoHole(isReplacement: Bool) {
        var ledger = AdmissionLedger(countsOnRelease: true)
        let marks = AdmissionLedger.Look(limit: 256 << 20, used: 0).marks
        let look = AdmissionLedger.Look(limit: 256 << 20, used: marks.mark)
        ledger.observe(look, inserted: 0)
        var (granted, evicted) = (0, 0)
        for _ in 0..<1000 {
            let decision = ledger.admit(look, outstanding: 0)
            ledger.observe(look, inserted: decision.grant, released: isReplacement ? decision.grant : 0)
            granted += decision.grant
            evicted += decision.evict
        }
        let leastEviction = AdmissionLedger.leastEviction(look.limit)
        #expect(isReplacement ? evicted <= leastEviction : evicted >= granted - leastEviction)
    }

    /// All shards together carried usage beyond the mark by what they had been granted before it, and where values are
    /// small each byte beyond it costs eight.
    @Test func whatIsGrantedTakesTheRoomThatIsLeft() {
        let marks = AdmissionLedger.Look(limit: 256 << 20, used: 0).marks
        let look = AdmissionLedger.Look(limit: 256 << 20, used: marks.mark - 2 << 20)
        for (outstanding, evicts) in [(0, false), (1 << 20, false), (2 << 20, true), (4 << 20, true)] {
            var ledger = AdmissionLedger(countsOnRelease: true)
            #expect((ledger.admit(look, outstanding: outstanding).evict > 0) == evicts, "\(outstanding >> 20) MiB")
        }
    }

    @Test func farFromTheMarkNothingIsEvicted() {
        var ledger = AdmissionLedger(countsOnRelease: true)
        for used in stride(from: 0, to: 200 << 20, by: 1 << 20) {
            let decision = ledger.admit(.init(limit: 256 << 20, used: used), outstanding: 0)
            #expect(decision.evict == 0 && !decision.trims && !decision.waits && decision.grant >= 16 << 10)
        }
    }

    /// However many shards hold a credit, together they hold no more than half the room, but for the least grant.
    @Test func grantsShrinkWithWhatIsOutstanding() {
        var outstanding = 0
        let look = AdmissionLedger.Look(limit: 256 << 20, used: 100 << 20)
        for _ in 0..<64 { outstanding += AdmissionLedger.farGrant(look, outstanding: outstanding) }
        #expect(outstanding <= look.untilMark / 2 + 64 * 16 << 10)
    }

    /// At the mark they hold no more than insertions may carry usage beyond it, but for the least grant: in a small
    /// container as in a large one, with as many shards as there are.
    @Test(arguments: [16, 96, 256, 4096, 65_536]) func grantsAtTheMarkArePlay(mebibytes: Int) {
        let limit = mebibytes << 20
        for used in [limit - limit / 8 - limit / 32, limit - limit / 8, limit - limit / 16] {
            let look = AdmissionLedger.Look(limit: limit, used: used)
            var outstanding = 0
            var ledger = AdmissionLedger(countsOnRelease: true)
            for _ in 0..<128 {
                let grant = ledger.admit(look, outstanding: outstanding).grant
                #expect(grant > 0)
                outstanding += grant
            }
            #expect(outstanding <= look.marks.play + 128 * 4 << 10)
        }
    }
}

@Suite struct HolesNeededTests {
    /// As many for each byte beyond the mark as such values lie in two pages, 8 at most; there is no step at a page.
    @Test(arguments: [(1, 8), (200, 8), (1064, 8), (2048, 4), (4000, 3), (4128, 2), (8192, 1), (1 << 20, 1)])
    func bySize(charge: Int, holes: Int) {
        let limit = 256 << 20
        let mark = AdmissionLedger.Look(limit: limit, used: 0).marks.mark
        let beyond = AdmissionLedger.Look(limit: limit, used: mark + 1000)
        #expect(AdmissionLedger.holesNeeded(beyond, charging: charge) == holes * 1000)
        #expect(AdmissionLedger.holesNeeded(.init(limit: limit, used: mark - 1), charging: charge) == 0)
        #expect(AdmissionLedger.holesNeeded(beyond, charging: 0) == 8000)
    }
}

@Suite struct InsertionEstimateTests {
    @Test func beginsPessimisticAndLearnsSmallValuesQuickly() {
        var estimate = InsertionEstimate()
        #expect(estimate.leastCharge == 65_536)
        var insertions = 4
        var renewals = 0
        while estimate.bytes > 300, renewals < 40 {
            estimate.learn(insertions: insertions, costs: 0, growth: insertions * 280, isUndisturbed: true)
            insertions = max(4, (256 << 10) / estimate.leastCharge)
            renewals += 1
        }
        #expect(estimate.bytes >= 64 && renewals < 40)
    }

    @Test(arguments: [280.0, 4_200, 65_700, 1_100_000]) func settlesAtWhatGrowthShows(bytes: Double) {
        var estimate = InsertionEstimate()
        for _ in 0..<200 {
            estimate.learn(insertions: 4096, costs: 0, growth: Int(4096 * bytes), isUndisturbed: true)
        }
        #expect(abs(estimate.bytes - bytes) < bytes / 20)
        #expect(estimate.bytesPerCost == 1)
    }

    @Test func insertionsIntoHolesDoNotSeemFree() {
        var estimate = InsertionEstimate()
        for _ in 0..<20 { estimate.learn(insertions: 4096, costs: 0, growth: 4096 * 4200, isUndisturbed: true) }
        let before = estimate.bytes
        for _ in 0..<1000 { estimate.learn(insertions: 4096, costs: 0, growth: 0, isUndisturbed: false) }
        #expect(estimate.bytes == before)
    }

    /// Nothing was evicted meanwhile, but much lay free before.
    @Test func insertionsIntoOlderHolesDoNotSeemFree() {
        var estimate = InsertionEstimate()
        for _ in 0..<20 { estimate.learn(insertions: 4096, costs: 0, growth: 4096 * 4200, isUndisturbed: true) }
        let before = estimate.bytes
        for _ in 0..<1000 {
            estimate.learn(insertions: 4096, costs: 0, growth: 0, isUndisturbed: true, holes: 4096 * 4200)
        }
        #expect(estimate.bytes == before)
        // More than lay free they cannot have taken.
        estimate.learn(insertions: 4096, costs: 0, growth: 0, isUndisturbed: true, holes: 1 << 20)
        #expect(estimate.bytes < 450)
    }

    @Test func growthBeyondTheEstimateIsBelievedAtOnce() {
        var estimate = InsertionEstimate()
        for _ in 0..<20 { estimate.learn(insertions: 4096, costs: 0, growth: 4096 * 280, isUndisturbed: true) }
        estimate.learn(insertions: 64, costs: 0, growth: 64 << 16, isUndisturbed: false)
        #expect(estimate.bytes == 65_536)
    }

    /// Values become 200 times as large, or as small: what eviction gives follows what is there, what an insertion
    /// takes is never taken for less than what is there has taken on the mean.
    @Test(arguments: [(280.0, 65_700.0), (65_700.0, 280.0)])
    func whatTheProcessHoldsTellsOfAnotherSize(before: Double, after: Double) {
        var estimate = InsertionEstimate()
        for _ in 0..<100 {
            estimate.learn(insertions: 4096, costs: 0, growth: Int(4096 * before), isUndisturbed: true)
        }
        let bytes = 220.0 * 1024 * 1024
        func census(old: Double, new: Double) {
            estimate.correct(held: old * before + new * after, entries: Int(old + new), costs: 0)
        }
        census(old: bytes / before, new: 0)
        #expect(abs(estimate.residentBytes - before) < before / 20)
        for part in [0.9, 0.5, 0.1] {
            let (old, new) = (bytes * part / before, bytes * (1 - part) / after)
            census(old: old, new: new)
            let mean = bytes / (old + new)
            #expect(abs(estimate.residentBytes - mean) < mean / 10, "\(part): \(estimate.residentBytes), not \(mean)")
            #expect(estimate.bytes >= mean * 0.75)
        }
        census(old: 0, new: bytes / after)
        #expect(abs(estimate.residentBytes - after) < after / 10)
        #expect(abs(estimate.bytes - after) < after / 4)
    }

    @Test func aFewEntriesProveNothingOfWhatTheProcessHolds() {
        var estimate = InsertionEstimate()
        estimate.correct(held: 100e6, entries: 255, costs: 0)
        #expect(estimate.bytes == InsertionEstimate.pessimistic)
        #expect(estimate.residentBytes == InsertionEstimate.pessimistic)
    }

    @Test func costsThatAreNoSizesAreFoundOut() {
        var honest = InsertionEstimate()
        var counted = InsertionEstimate()
        for _ in 0..<60 {
            honest.learn(insertions: 1024, costs: 1024 * 4096, growth: 1024 * 4200, isUndisturbed: true)
            counted.learn(insertions: 1024, costs: 1024, growth: 1024 * 4200, isUndisturbed: true)
        }
        #expect(abs(honest.bytesPerCost - 1.03) < 0.05 && honest.leastCharge < 1024)
        #expect(abs(counted.bytesPerCost - 4200) < 250 && counted.leastCharge > 4000)
    }
}

@Suite struct TrimPacingTests {
    private let millisecond: UInt64 = 1_000_000
    private let limit = 1600

    /// Whether a trim may begin so many milliseconds after the start, and how many are left until it may.
    private func allows(_ pacing: TrimPacing, _ now: UInt64, isUrgent: Bool = false, holes: Int = 0) -> Bool {
        let allows = pacing.allows(at: now * millisecond, isUrgent: isUrgent, holes: holes, limit: limit)
        let remaining = pacing.remaining(at: now * millisecond, holes: holes, limit: limit)
        #expect(isUrgent || allows == (remaining == 0))
        return allows
    }

    @Test func keepsItsDistanceAndDoublesItWhenATrimBringsLittle() {
        var pacing = TrimPacing()
        #expect(allows(pacing, 0))
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 100, expected: 100)
        #expect(!allows(pacing, 99) && allows(pacing, 100))
        #expect(!allows(pacing, 4, isUrgent: true) && allows(pacing, 5, isUrgent: true))
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 1, expected: 100)
        #expect(!allows(pacing, 199) && allows(pacing, 200))
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 1, expected: 100)
        #expect(!allows(pacing, 399) && allows(pacing, 400))
        for _ in 0..<10 { pacing.finished(at: 0, nanoseconds: millisecond, bytes: 1, expected: 100) }
        #expect(!allows(pacing, 3199) && allows(pacing, 3200))
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 50, expected: 100)
        #expect(allows(pacing, 100))
        // A tenth of the time at most.
        pacing.finished(at: 0, nanoseconds: 50 * millisecond, bytes: 50, expected: 100)
        #expect(!allows(pacing, 499) && allows(pacing, 500))
    }

    /// A sixteenth of the limit is 100.
    @Test func whereMuchLiesFreeOneThatBroughtLittleIsRepeatedAsOthersAre() {
        var pacing = TrimPacing()
        for _ in 0..<2 { pacing.finished(at: 0, nanoseconds: 30 * millisecond, bytes: 0, expected: 60) }
        #expect(!allows(pacing, 599, holes: 99) && allows(pacing, 600, holes: 99))
        #expect(!allows(pacing, 299, holes: 100) && allows(pacing, 300, holes: 100))
    }

    @Test func whereMuchHasComeToLieFreeTrimsTakeAThirdOfTheTime() {
        var pacing = TrimPacing()
        pacing.finished(at: 0, nanoseconds: 80 * millisecond, bytes: 10, expected: 70)
        #expect(!allows(pacing, 799, holes: 159) && allows(pacing, 800, holes: 159))
        #expect(!allows(pacing, 159, holes: 160) && allows(pacing, 160, holes: 160))
        // Long ones keep no more than others.
        pacing.finished(at: 0, nanoseconds: 9000 * millisecond, bytes: 0, expected: 60)
        #expect(!allows(pacing, 3199, holes: 160) && allows(pacing, 3200, holes: 160))
        // Short ones keep their distance.
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 0, expected: 60)
        #expect(!allows(pacing, 99, holes: 160) && allows(pacing, 100, holes: 160))
    }

    @Test func forLittleTrimsTakeAHundredthOfTheTime() {
        var pacing = TrimPacing()
        #expect(pacing.allowsForLittle(at: 0))
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 100, expected: 100)
        #expect(!pacing.allowsForLittle(at: 99 * millisecond) && pacing.allowsForLittle(at: 100 * millisecond))
        pacing.finished(at: 0, nanoseconds: 3 * millisecond, bytes: 100, expected: 100)
        #expect(allows(pacing, 100))
        #expect(!pacing.allowsForLittle(at: 299 * millisecond) && pacing.allowsForLittle(at: 300 * millisecond))
        // What brought little is not repeated sooner.
        pacing.finished(at: 0, nanoseconds: millisecond, bytes: 1, expected: 100)
        #expect(!pacing.allowsForLittle(at: 199 * millisecond) && pacing.allowsForLittle(at: 200 * millisecond))
    }
}
