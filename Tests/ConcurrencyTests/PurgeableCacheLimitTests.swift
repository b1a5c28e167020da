//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Limits hold after every call, with any number of threads, and every call returns.
@Suite struct PurgeableCacheLimitTests {
    private static let calls = ProcessInfo.processInfo.environment["CACHE_STRESS_SECONDS"] == nil ? 20_000 : 1_000_000

    /// A cache that has split once, as large ones have, and is empty.
    private func splitCache() -> PurgeableCache<Int> {
        let cache = PurgeableCache<Int>()
        for key in 0..<6000 { cache.setBytes([1], forKey: key) }
        cache.removeAll()
        return cache
    }

    private func hold(
        _ cache: PurgeableCache<Int>,
        threads: Int,
        countLimit: Int,
        totalCostLimit: Int,
        most: Int,
        isLowered: Bool
    ) {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCacheLimitTests: seed \(seed)")
        cache.countLimit = countLimit
        cache.totalCostLimit = totalCostLimit
        let over = Counter()
        let done = Counter()
        onThreads(threads + (isLowered ? 1 : 0)) { thread in
            var random = SplitMix64(seed: seed &+ UInt64(thread))
            // The last thread lowers a limit and looks whether it holds, while the others insert.
            while thread == threads, done.value < threads {
                let count = Int.random(in: 1...countLimit, using: &random)
                cache.countLimit = count
                for _ in 0..<20 where cache.count > count { over.increment() }
                let cost = Int.random(in: 1...totalCostLimit, using: &random)
                cache.totalCostLimit = cost
                for _ in 0..<20 where cache.totalCost > cost { over.increment() }
                cache.countLimit = countLimit
                cache.totalCostLimit = totalCostLimit
            }
            guard thread < threads else { return }
            for _ in 0..<Self.calls / threads {
                let bytes = [UInt8](repeating: 1, count: Int.random(in: 1...most, using: &random))
                cache.setBytes(bytes, forKey: Int.random(in: 0..<1000, using: &random))
                if cache.count > countLimit || cache.totalCost > totalCostLimit { over.increment() }
            }
            done.increment()
        }
        #expect(over.value == 0, "seed \(seed)")
        #expect(cache.count <= countLimit)
        #expect(cache.totalCost <= totalCostLimit)
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
    }

    @Test(arguments: [2, 8], [false, true]) func smallValues(threads: Int, isLowered: Bool) {
        let caches = [PurgeableCache<Int>(), splitCache()]
        for cache in caches {
            hold(cache, threads: threads, countLimit: 10, totalCostLimit: 4000, most: 900, isLowered: isLowered)
        }
    }

    @Test(arguments: [2, 8]) func largeValues(threads: Int) {
        let cache = splitCache()
        hold(cache, threads: threads, countLimit: 20, totalCostLimit: 400_000, most: 90_000, isLowered: true)
    }

    /// Hardly any room, and more threads than places.
    @Test(.timeLimit(.minutes(10)), arguments: [2, 8, 32], [1, 2, 3]) func tinyLimits(threads: Int, limit: Int) {
        hold(splitCache(), threads: threads, countLimit: limit, totalCostLimit: 100, most: 1, isLowered: false)
    }

    /// Two of these values do not fit, so that each insertion needs what another one has.
    @Test(.timeLimit(.minutes(10)), arguments: [2, 8, 32]) func valuesOfMostOfTheLimit(threads: Int) {
        let cache = splitCache()
        cache.totalCostLimit = 800
        let over = Counter()
        onThreads(threads) { thread in
            for number in 0..<Self.calls / threads {
                cache.setBytes([UInt8](repeating: 1, count: 500), forKey: number &* 31 &+ thread)
                if cache.totalCost > 800 { over.increment() }
            }
        }
        #expect(over.value == 0)
        #expect(cache.count == 1)
    }

    /// A key whose value is replaced by a dearer one is found all the while.
    /// As many as there were are trimmed, not as many as come meanwhile.
    @Test func trimmingEndsBesideInsertions() {
        failingWhenStuck("a trim beside insertions") {
            let cache = PurgeableCache<Int>()
            for key in 0..<20_000 { cache.setBytes([1], forKey: key) }
            let isTrimmed = Counter()
            onThreads(2) { thread in
                if thread == 0 {
                    cache.trim(toCount: 0)
                    cache.trim(toCost: 0)
                    isTrimmed.increment()
                } else {
                    var key = 0
                    while isTrimmed.value == 0 {
                        cache.setBytes([1], forKey: key % 40_000)
                        key += 1
                    }
                }
            }
        }
    }

    @Test func aReplacementIsNeverMissing() {
        let cache = PurgeableCache<Int>(totalCostLimit: 1000)
        let missing = Counter()
        let done = Counter()
        onThreads(2) { thread in
            for number in 0..<Self.calls where thread == 0 {
                // 450 bytes are the limit's share of a value that others are evicted for, but never the key's own.
                cache.setBytes([UInt8](repeating: 1, count: 50 + number % 2 * 400), forKey: 0)
                if cache.bytes(forKey: 0) == nil { missing.increment() }
                for key in 1...4 { cache.setBytes([UInt8](repeating: 2, count: 130), forKey: key) }
                // Read, it is spared by the others' evictions.
                _ = cache.bytes(forKey: 0)
            }
            if thread == 0 { done.increment() }
            while thread == 1, done.value == 0 {
                _ = cache.bytes(forKey: 0)
                _ = cache.bytes(forKey: 3)
            }
        }
        #expect(missing.value == 0)
    }
}
