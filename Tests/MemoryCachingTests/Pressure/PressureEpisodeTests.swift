//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Synchronization
import Testing

@testable import MemoryCaching

@Suite struct PressureEpisodeTests {
    typealias Holding = PressureEpisode.Holding

    private final class Cache: Sendable {}
    private let cache = Cache()
    private let other = Cache()
    private static let second: UInt64 = 1_000_000_000

    private func holdings(entries: Double, of bytes: Double) -> PressureEpisode.Holdings {
        [ObjectIdentifier(cache): Holding(entries: entries, bytesPerEntry: bytes)]
    }

    @Test func aLevelLeavesItsPartAndTheCeilingStays() {
        var episode = PressureEpisode()
        #expect(episode.ceiling == nil)
        let held = holdings(entries: 1000, of: 1000)
        let atWarning = episode.report(.warning, holdings: held, floor: 0, now: 0).bytes
        #expect(atWarning == 250_000)
        episode.evicted(250_000)
        #expect(episode.ceiling == 750_000)
        let left = holdings(entries: 750, of: 1000)
        let atCritical = episode.report(.critical, holdings: left, floor: 0, now: 0).bytes
        #expect(atCritical == 562_500)
        episode.evicted(562_500)
        #expect(episode.ceiling == 187_500)
        // Less pressure is still pressure.
        let rest = holdings(entries: 187.5, of: 1000)
        let atLessPressure = episode.report(.warning, holdings: rest, floor: 0, now: 0).bytes
        #expect(atLessPressure == 0)
        #expect(episode.ceiling == 187_500)
        let atNormal = episode.report(.normal, holdings: left, floor: 0, now: 0).bytes
        #expect(atNormal == 0)
        #expect(episode.ceiling == nil)
    }

    /// Sizes are learned while a part of the entries is evicted: the part stays the same, whatever the ceiling is.
    @Test(arguments: [0, 1_000_000]) func whatALevelLeavesFollowsTheSizes(floor: Int) {
        var episode = PressureEpisode()
        _ = episode.report(.warning, holdings: holdings(entries: 1000, of: 1000), floor: floor, now: 0)
        episode.evicted(250_000)
        let held = holdings(entries: 800, of: 1000)
        let (bytes, cut) = episode.report(.critical, holdings: held, floor: floor, now: 0)
        #expect(bytes == 600_000)
        #expect(episode.excess(of: holdings(entries: 600, of: 700), beyond: cut) == 400 * 700)
        #expect(episode.excess(of: holdings(entries: 600, of: 2000), beyond: cut) == 400 * 2000)
        #expect(episode.excess(of: holdings(entries: 199, of: 700), beyond: cut) == 0)
        // Without a cut the ceiling holds.
        let ceiling = max(floor, 200 * 700)
        let refilled = holdings(entries: 2000, of: 700)
        #expect(episode.excess(of: refilled, beyond: .init()) == 1_400_000 - ceiling)
        #expect(episode.excess(of: refilled, beyond: .init(unspent: 1000)) == 1_401_000 - ceiling)
        _ = episode.report(.normal, holdings: [:], floor: floor, now: 0)
        #expect(episode.excess(of: held, beyond: cut) == 0)
    }

    /// Sizes are learned while pressure lasts: the entries that may stay are the same.
    @Test(arguments: [64.0, 500, 65_536, 1_000_000]) func theCeilingFollowsTheSizes(learned: Double) throws {
        var episode = PressureEpisode()
        _ = episode.report(.warning, holdings: holdings(entries: 2000, of: 65_536), floor: 0, now: 0)
        episode.evicted(.max)
        let (_, first) = episode.admit(.max / 2, outstanding: 0, overrun: 1 << 40)
        let now = holdings(entries: 1500, of: learned)
        let excess = episode.finish(measurement: try #require(first), now, floor: 0, unspent: 0)
        #expect(excess == 0)
        #expect(episode.ceiling == Int(1500 * learned))
    }

    @Test func sizesOfOneCacheDoNotChangeAnothersPart() throws {
        var episode = PressureEpisode()
        var held = holdings(entries: 100, of: 65_536)
        held[ObjectIdentifier(other)] = Holding(costs: 4_000_000)
        _ = episode.report(.warning, holdings: held, floor: 0, now: 0)
        let (_, measurement) = episode.admit(1, outstanding: 0, overrun: 1 << 40)
        held[ObjectIdentifier(cache)]?.bytesPerEntry = 100
        _ = episode.finish(measurement: try #require(measurement), held, floor: 0, unspent: 0)
        #expect(episode.ceiling == 7500 + 3_000_000)
        // A cache that has gone leaves its part to the others.
        held[ObjectIdentifier(other)] = nil
        _ = episode.report(.warning, holdings: held, floor: 0, now: 0)
        #expect(episode.ceiling == 7500 + 3_000_000)
    }

    @Test func pressureThatGoesOnStopsAtTheFloor() {
        var episode = PressureEpisode()
        var held = 1e6
        for second in 0..<60 {
            let now = UInt64(second) * Self.second
            var left = holdings(entries: held, of: 1)
            let asked = episode.report(.warning, holdings: left, floor: 100_000, now: now).bytes
            episode.evicted(asked)
            held -= Double(asked)
            left = holdings(entries: held, of: 1)
            let again = episode.report(.warning, holdings: left, floor: 100_000, now: now).bytes
            #expect(again == 0)
        }
        #expect(held == 100_000)
        #expect(episode.ceiling == 100_000)
    }

    @Test func theFloorIsASixtyFourthAndNeverLessThanGrowthCanTell() {
        #expect(PressureEpisode.floor(budget: 1 << 30) == 16 << 20)
        #expect(PressureEpisode.floor(budget: 16 << 20) == 9 << 18)
        #expect(PressureEpisode.floor(budget: nil) == 9 << 18)
    }

    @Test func nothingIsMeasuredBeforeTheCeilingCanBeReached() {
        var episode = PressureEpisode()
        _ = episode.report(.warning, holdings: [:], floor: 64_000_000, now: 0)
        var granted = 0
        while true {
            let (grant, measurement) = episode.admit(.max / 2, outstanding: 0, overrun: 0)
            #expect(grant == 1_000_000)
            granted += grant
            if measurement != nil { break }
        }
        #expect(granted == 65_000_000)
    }

    @Test func allGrantsTogetherAreASmallPartOfTheCeiling() {
        var episode = PressureEpisode()
        _ = episode.report(.warning, holdings: [:], floor: 64_000_000, now: 0)
        var outstanding = 0
        for _ in 0..<64 { outstanding += episode.admit(.max / 2, outstanding: outstanding, overrun: 0).grant }
        #expect(outstanding <= 64_000_000 / 8 + 64 * 4096)
    }

    @Test func whatIsBeingEvictedIsNotEvictedTwice() throws {
        var episode = PressureEpisode()
        _ = episode.report(.warning, holdings: [:], floor: 1_000_000, now: 0)
        let held = holdings(entries: 1500, of: 1000)
        let (_, first) = episode.admit(1, outstanding: 0, overrun: 1 << 30)
        let (_, second) = episode.admit(1, outstanding: 0, overrun: 1 << 30)
        let excess = episode.finish(measurement: try #require(first), held, floor: 1_000_000, unspent: 0)
        #expect(excess == 500_000)
        // Measured before the first had decided: stale.
        let stale = episode.finish(measurement: try #require(second), held, floor: 1_000_000, unspent: 0)
        #expect(stale == 0)
        let (_, third) = episode.admit(1, outstanding: 0, overrun: 1 << 30)
        let pending = episode.finish(measurement: try #require(third), held, floor: 1_000_000, unspent: 0)
        #expect(pending == 0)
        episode.evicted(500_000)
        let (_, fourth) = episode.admit(1, outstanding: 0, overrun: 1 << 30)
        let excessAfter = episode.finish(measurement: try #require(fourth), held, floor: 1_000_000, unspent: 0)
        #expect(excessAfter == 500_000)
    }

    /// One thread measures, another one evicts meanwhile: what the first has seen is not there any more.
    @Test func whatAnotherHasEvictedSinceTheMeasurementIsNotEvictedAgain() throws {
        var episode = PressureEpisode()
        _ = episode.report(.warning, holdings: [:], floor: 1_000_000, now: 0)
        let held = holdings(entries: 1500, of: 1000)
        let (_, first) = episode.admit(1, outstanding: 0, overrun: 1 << 30)
        let excess = episode.finish(measurement: try #require(first), held, floor: 1_000_000, unspent: 0)
        #expect(excess == 500_000)
        // Looks while the other one's eviction is under way.
        let (_, second) = episode.admit(1, outstanding: 0, overrun: 1 << 30)
        episode.evicted(500_000)
        let stale = episode.finish(measurement: try #require(second), held, floor: 1_000_000, unspent: 0)
        #expect(stale == 0)
    }
}

@Suite struct InsertionCreditTests {
    @Test func whatIsRevokedIsNeitherSpentNorGranted() {
        var credit = InsertionCredit(grantedBytes: 1000, leastCharge: 10)
        let isSpent = credit.spend(300)
        #expect(!isSpent)
        let revoked = credit.revoke()
        #expect(revoked == 1000)
        #expect(credit.grantedBytes == 0 && credit.grantedBytes - credit.remainingBytes == 300)
        let asks = credit.spend(0)
        #expect(asks)
        #expect(credit.grantedBytes - credit.remainingBytes == 310)
        let revokedAgain = credit.revoke()
        #expect(revokedAgain == 0 && credit.grantedBytes - credit.remainingBytes == 310)
    }

    /// Two threads ask for one shard at the same time, and what is inserted meanwhile is charged as well.
    @Test func grantsThatComeTogetherAddUp() {
        var credit = InsertionCredit(grantedBytes: 1000, leastCharge: 10)
        _ = credit.spend(1000)
        let spent = credit.take()
        #expect(spent.grantedBytes == 1000 && spent.insertions == 1 && spent.costs == 1000)
        let asks = credit.spend(100)
        #expect(asks)
        let spentMeanwhile = credit.take()
        #expect(spentMeanwhile.grantedBytes == 0 && spentMeanwhile.remainingBytes == -100)
        _ = credit.spend(5)
        credit.add(InsertionCredit(grantedBytes: 4000, leastCharge: 20))
        credit.add(InsertionCredit(grantedBytes: 300, leastCharge: 30))
        #expect(credit.grantedBytes == 4300 && credit.remainingBytes == 4290 && credit.leastCharge == 30)
        #expect(credit.insertions == 1 && credit.costs == 5)
    }

    /// What an entry was charged is released when it goes, and reported with what is spent. A shard that was never
    /// granted anything takes no note.
    @Test func whatGoesIsReportedOnce() {
        var unasked = InsertionCredit()
        unasked.release(1000)
        #expect(unasked.released == 0)
        var credit = InsertionCredit(grantedBytes: 1000, leastCharge: 10)
        credit.release(500)
        credit.release(0)
        #expect(credit.released == 510 && credit.remainingBytes == 1000)
        #expect(credit.take().released == 510 && credit.released == 0)
    }
}

@Suite struct OutstandingCreditTests {
    /// What counts as granted and not spent is what the shards have: four threads ask for one shard and then for many,
    /// credits are revoked meanwhile, and a cache goes with its credits.
    @Test func everyByteGrantedIsSpentRevokedOrHeldByAShard() async {
        let governor = MemoryGovernor(
            monitor: MemoryPressureMonitor(signals: [ManualPressureSignal()]),
            gauge: MemoryGauge(SystemFiles(root: "/nonexistent"))
        )
        let monitor = governor.monitor
        governor.adopted()
        do {
            let cache = MemoryCache<Int, [UInt8]>(options: .init(pressureMonitor: monitor))
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<4 {
                    group.addTask {
                        for key in 0..<4_000 {
                            cache[thread << 32 | key] = [1]
                            if key % 500 == 0 { governor.revokeCredits() }
                        }
                    }
                }
            }
            var held = 0
            cache.engine.forEachShard { held += $0.pointee.credit.grantedBytes }
            #expect(held > 0 && governor.unspent == held)
            withExtendedLifetime(cache) {}
        }
        #expect(governor.unspent == 0)
    }
}

@Suite struct UnlearnedSizeTests {
    /// Under pressure every window is disturbed, and one of 4 MiB holds 64 insertions of the first estimate.
    @Test func pessimismIsLoweredBySmallWindowsToo() {
        var estimate = InsertionEstimate()
        for _ in 0..<32 { estimate.learn(insertions: 64, costs: 0, growth: 0, isUndisturbed: false) }
        #expect(estimate.bytes == 1024)
    }

    @Test func aBoundHoldsUntilThereIsAMeasurement() {
        var estimate = InsertionEstimate()
        estimate.bound(by: 5000, entries: 100)
        #expect(estimate.residentBytes == 5000 && estimate.bytes == InsertionEstimate.pessimistic)
        estimate.bound(by: 2000, entries: 1000)
        #expect(estimate.residentBytes == 2000 && estimate.bytes == 2000)
        estimate.bound(by: 9000, entries: 1000)
        #expect(estimate.residentBytes == 2000)
        estimate.learn(insertions: 4096, costs: 0, growth: 4096 * 1500, isUndisturbed: true)
        #expect(estimate.isMeasured && estimate.residentBytes == 1500 && estimate.bytes == 1500)
        estimate.bound(by: 100, entries: 1000)
        #expect(estimate.residentBytes == 1500)
    }
}
