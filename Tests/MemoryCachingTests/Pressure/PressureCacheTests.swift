//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Real caches under pressure: what goes, whose it is, and that nothing comes back too soon.
@Suite struct PressureCacheTests {
    let signal = ManualPressureSignal()
    let options: MemoryCacheOptions<Int, [UInt8]>

    init() { options = MemoryCacheOptions(pressureMonitor: MemoryPressureMonitor(signals: [signal])) }

    func cache(recomputeCost range: ClosedRange<Double>, seed: UInt64) -> MemoryCache<Int, [UInt8]> {
        let cache = MemoryCache<Int, [UInt8]>(options: options)
        var random = SplitMix64(seed: seed)
        for key in 0..<4000 {
            let value = [UInt8](repeating: 1, count: 1000)
            cache.setValue(value, forKey: key, cost: 1000, recomputeCost: .random(in: range, using: &random))
        }
        return cache
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func twoCachesSettleAtOnePriceAndTheCostlyOneKeepsMore(seed: UInt64) {
        let costly = cache(recomputeCost: 10...1000, seed: seed)
        // The ranges overlap at their upper ends: where all that the cheap one holds is worth less, it sells out.
        let cheap = cache(recomputeCost: 8...800, seed: seed + 100)
        #expect(costly.count == 4000 && cheap.count == 4000)
        signal.send(.warning)
        signal.send(.critical)
        // What is left is 3/16 of the memory that both held. A byte of cost is up to 1.25 of it, as measured in each.
        #expect(costly.totalCost + cheap.totalCost <= 8_000_000 * 3 / 16 * 5 / 4)
        #expect(cheap.count > 0 && costly.count > 2 * cheap.count, "\(costly.count) to \(cheap.count), seed \(seed)")
        // Worth is kept to two bits of mantissa (a quarter).
        let prices = [costly.engine.marginalPrice, cheap.engine.marginalPrice]
        #expect(prices[0] / prices[1] < 1.6 && prices[1] / prices[0] < 1.6, "\(prices), seed \(seed)")
    }

    @Test func aWarningTakesAQuarterAndTellsTheHandlerWhy() {
        let causes = Counter()
        var options = options
        options.removalHandler = { _, _, cause in if cause == .memoryPressure { causes.add() } }
        let cache = MemoryCache<Int, [UInt8]>(options: options)
        for key in 0..<1000 { cache.setValue([1], forKey: key, cost: 1000) }
        signal.send(.normal)
        #expect(cache.count == 1000 && causes.value == 0)
        signal.send(.warning)
        #expect(cache.count == 750 && causes.value == 250)
        #expect(cache.statistics.removals(.memoryPressure) == 250)
    }

    /// A second cache that nobody but this handler fills: it must be known, or nothing becomes free.
    @Test func whatAHandlerMovesToAnotherCacheHasNotGone() {
        let second = MemoryCache<Int, [UInt8]>(options: options)
        var options = options
        options.removalHandler = { key, value, _ in second.setValue(value, forKey: key, cost: 1000) }
        let first = MemoryCache<Int, [UInt8]>(options: options)
        for key in 0..<4000 { first.setValue([1], forKey: key, cost: 1000) }
        signal.send(.warning)
        #expect(first.count + second.count <= 3100 && first.count + second.count >= 2500)
        #expect(second.statistics.removals(.memoryPressure) >= 900)
        signal.send(.critical)
        let left = first.count + second.count
        #expect(left <= 900 && left >= 500, "\(first.count) and \(second.count)")
    }

    /// One that puts back whatever leaves keeps everything, but nobody waits for it for ever.
    @Test func aHandlerThatPutsEverythingBackEndsNoEvictionLate() {
        let cache = Mutex<MemoryCache<Int, [UInt8]>?>(nil)
        var options = options
        options.removalHandler = { key, value, _ in
            let cache = cache.withLock { $0 }
            cache?.setValue(value, forKey: key, cost: 1000)
        }
        let made = MemoryCache<Int, [UInt8]>(options: options)
        cache.withLock { $0 = made }
        for key in 0..<4000 { made.setValue([1], forKey: key, cost: 1000) }
        signal.send(.warning)
        #expect(made.count == 4000)
        #expect(made.statistics.removals(.memoryPressure) <= 4000)
        cache.withLock { $0 = nil }
    }

    @Test func withoutCostsAWarningTakesAQuarterOfTheEntries() {
        let cache = MemoryCache<Int, [UInt8]>(options: options)
        for key in 0..<1000 { cache[key] = [1] }
        signal.send(.warning)
        #expect((740...760).contains(cache.count), "\(cache.count)")
    }

    @Test func aCacheThatTakesNoPartKeepsAll() {
        var options = options
        options.evictsUnderMemoryPressure = false
        let cache = MemoryCache<Int, [UInt8]>(options: options)
        for key in 0..<1000 { cache.setValue([1], forKey: key, cost: 1000) }
        signal.send(.critical)
        #expect(cache.count == 1000)
    }
}

private final class Counter: Sendable {
    private let count = Atomic(0)
    func add() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}
