//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import MemoryPressure
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What stays in memory when most values have left and none comes.
@Suite("PurgeableCache: segments are cleaned when values leave", .timeLimit(.minutes(10)))
struct PurgeableCacheRemovalTests {
    enum Way: CaseIterable { case one, predicate, expiry, trim }

    private static let cases: [(Way, Int)] =
        Way.allCases.flatMap { [($0, 100), ($0, 1_000), ($0, 50_000)] } + [(.predicate, 1)]

    @Test("Dead bytes go with removals, too", arguments: cases)
    func deadBytes(_ way: Way, size: Int) {
        let clock = ManualClock()
        let cache = PurgeableCache<Int>(options: .init(clock: clock, evictsUnderMemoryPressure: false))
        let count = max(800, (24 << 20) / (size + 15)) / 10 * 10
        let bytes = [UInt8](repeating: 1, count: size)
        for key in 0..<count {
            if way == .expiry, key % 10 != 0 {
                cache.setBytes(bytes, forKey: key, expiresAfter: .seconds(1))
            } else {
                cache.setBytes(bytes, forKey: key)
            }
        }
        switch way {
        case .one: for key in 0..<count where key % 10 != 0 { cache.removeBytes(forKey: key) }
        case .predicate: cache.removeAll { $0 % 10 != 0 }
        case .expiry:
            clock.advance(by: .seconds(1))
            _ = cache.count
        case .trim:
            // Of values that were read, so that every segment keeps some.
            for key in 0..<count where key % 10 == 0 { _ = cache.bytes(forKey: key) }
            cache.trim(toCount: count / 10)
        }
        #expect(cache.count == count / 10)
        if way != .trim { #expect((0..<count / 10).allSatisfy { cache.contains($0 * 10) }) }
        // Half as much as the values, and what a census and two active segments are.
        let statistics = cache.statistics
        let held = count / 10 * (size + 16)
        #expect(statistics.volatileBytes < held * 3 / 2 + (10 << 20), "\(statistics.volatileBytes) for \(held)")
    }

    /// A limit holds at once for who asks what is held, and the values leave one by one.
    @Test("Dead bytes go when a limit is set lower", arguments: [true, false])
    func deadBytesBelowALowerLimit(isCost: Bool) {
        var random = SplitMix64(seed: 15)
        let cache = PurgeableCache<Int>(options: .init(evictsUnderMemoryPressure: false))
        let count = 32_000
        for key in 0..<count { cache.setBytes([UInt8](repeating: 1, count: 4000), forKey: key) }
        for _ in 0..<count {
            let bytes = [UInt8](repeating: 2, count: Int.random(in: 1...4000, using: &random))
            cache.setBytes(bytes, forKey: Int.random(in: 0..<count, using: &random))
        }
        if isCost { cache.totalCostLimit = cache.totalCost / 9 } else { cache.countLimit = cache.count / 9 }
        let statistics = cache.statistics
        let held = cache.totalCost + cache.count * 16
        #expect(statistics.volatileBytes <= held * 3 / 2 + (4 << 20))
    }

    /// It counted as granted and not yet spent for as long as the cache was: at a warning all caches of the process were
    /// emptied for it.
    @Test("What was granted is taken back, or kept, when everything is removed")
    func credit() throws {
        let cache = PurgeableCache<String>(
            options: .init(pressureMonitor: MemoryPressureMonitor(signals: [ManualPressureSignal()]))
        )
        let governor = try #require(cache.store.pressure?.governor)
        for round in 0..<100 {
            for key in 0..<8 { cache.setBytes([1, 2, 3], forKey: "a key of some length \(round) \(key)") }
            cache.removeAll()
        }
        #expect(governor.unspent > 0)
        governor.revokeCredits()
        #expect(governor.unspent == 0)
    }
}
