//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

private typealias IntCache = MemoryCache<Int, Int>

/// A key whose `==` stores another key in the cache that compares it.
private struct MeddlingKey: Hashable, Sendable {
    var name: Int
    nonisolated(unsafe) static var cache: MemoryCache<MeddlingKey, Int>?
    static let comparisons = Atomic<Int>(0)

    static func == (left: Self, right: Self) -> Bool {
        // What it stores is compared without meddling, or else the comparisons would have no end.
        if left.name >= 0, right.name >= 0, comparisons.add(1, ordering: .relaxed).newValue % 3 == 0 {
            cache?.setValue(0, forKey: MeddlingKey(name: -1 - left.name), cost: 3)
        }
        return left.name == right.name
    }
    func hash(into hasher: inout Hasher) { hasher.combine(name & 1) }
}

private final class Box: NSObject {}

/// Insertions return, and limits hold, whatever costs, threads and settings do to them.
@Suite("Room under attack", .serialized)
struct RoomStressTests {
    private static let threads = [2, 3, 4, 8, 32]

    private static func seed(_ name: String) -> UInt64 {
        let seed = UInt64.random(in: 0 ... .max)
        print("RoomStressTests, \(name): seed \(seed)")
        return seed
    }

    /// A cache that has split, if it is to have, and is empty.
    private func cache(hasSplit: Bool) -> IntCache {
        let cache = IntCache(options: .init(evictsUnderMemoryPressure: false))
        if hasSplit { for key in 0..<5000 { cache.setValue(key, forKey: key, cost: 1) } }
        cache.removeAll()
        return cache
    }

    @Test("costs from 1 to nine tenths of the limit", arguments: threads, [false, true])
    func extremeCosts(_ threads: Int, hasSplit: Bool) {
        let seed = Self.seed("extreme costs")
        let cache = cache(hasSplit: hasSplit)
        cache.totalCostLimit = 1000
        let calls = stressed(40_000) / threads
        failingWhenStuck("\(threads) threads, costs 1 to 900 of 1,000, split: \(hasSplit), seed \(seed)") {
            inParallel(threads) { thread in
                var random = SplitMix64(seed: seed &+ UInt64(thread))
                for _ in 0..<calls {
                    let key = Int.random(in: 0..<2000, using: &random)
                    let cost = Int.random(in: 1...(Bool.random(using: &random) ? 900 : 9), using: &random)
                    cache.setValue(key, forKey: key, cost: cost)
                }
            }
        }
        #expect(cache.totalCost <= 1000 && cache.totalCost > 0)
        cache.engine._checkInvariants()
        cache.removeAll()
        #expect(cache.totalCost == 0 && cache.count == 0)
    }

    @Test(
        "many large values at once, in a cache of small ones",
        arguments: [(32, 8, 1), (2, 8, 5), (8, 10, 9)],
        [false, true]
    )
    func largeValues(_ share: (threads: Int, of: Int, part: Int), hasSplit: Bool) {
        let limit = hasSplit ? 20_000 : 2_000
        let cache = cache(hasSplit: hasSplit)
        cache.totalCostLimit = limit
        for key in 0..<limit { cache.setValue(key, forKey: key, cost: 1) }
        let isStored = Atomic<Int>(0)
        failingWhenStuck("\(share.threads) values of \(share.part)/\(share.of) of the limit, split: \(hasSplit)") {
            inParallel(share.threads) { thread in
                for round in 0..<stressed(20) {
                    let key = -1 - thread - share.threads * round
                    // Worth more than all the others together, so that it is not refused.
                    if cache.setValue(key, forKey: key, cost: limit / share.of * share.part, recomputeCost: 1e9) {
                        isStored.add(1, ordering: .relaxed)
                    }
                    cache.setValue(round, forKey: round, cost: 1)
                }
            }
        }
        #expect(isStored.load(ordering: .relaxed) > 0)
        #expect(cache.totalCost <= limit)
        cache.engine._checkInvariants()
    }

    @Test("NSCache with extreme costs", arguments: threads)
    func extremeCostsOfObjects(_ threads: Int) {
        let seed = Self.seed("NSCache")
        nonisolated(unsafe) let cache = FoundationCaching.NSCache<NSNumber, Box>()
        for key in 0..<5000 { cache.setObject(Box(), forKey: NSNumber(value: key)) }
        cache.removeAllObjects()
        cache.totalCostLimit = 1000
        cache.countLimit = 300
        failingWhenStuck("NSCache, \(threads) threads, costs 1 to 900 of 1,000, seed \(seed)") {
            inParallel(threads) { thread in
                var random = SplitMix64(seed: seed &+ UInt64(thread))
                for _ in 0..<stressed(20_000) / threads {
                    let key = NSNumber(value: Int.random(in: 0..<2000, using: &random))
                    cache.setObject(Box(), forKey: key, cost: Int.random(in: 1...900, using: &random))
                }
            }
        }
        #expect(cache.statistics.totalCost <= 1000 && cache.statistics.count <= 300)
        #expect(cache.statistics.refusals == 0, "NSCache refuses nothing for its worth")
    }

    @Test("an == that inserts", arguments: [1, 2, 3])
    func meddlingEquality(_ limit: Int) {
        let cache = MemoryCache<MeddlingKey, Int>(
            countLimit: limit,
            totalCostLimit: 10,
            options: .init(evictsUnderMemoryPressure: false)
        )
        MeddlingKey.cache = cache
        failingWhenStuck("an == that inserts, count limit \(limit)") {
            inParallel(4) { thread in
                for round in 0..<stressed(500) {
                    cache.setValue(round, forKey: MeddlingKey(name: round % 7), cost: 1 + (round + thread) % 9)
                }
            }
        }
        MeddlingKey.cache = nil
        #expect(cache.count <= limit && cache.totalCost <= 10)
        cache.engine._checkInvariants()
    }

    /// Both limits hold when the insertion and the setter have both returned.
    @Test("insertions against a limit that is set", arguments: [false, true])
    func settingLimits(hasSplit: Bool) {
        let seed = Self.seed("setting limits")
        let cache = cache(hasSplit: hasSplit)
        let excess = Atomic<Int>(0)
        @Sendable func limits(_ round: Int) -> (count: Int, cost: Int) {
            var random = SplitMix64(seed: seed &+ UInt64(round))
            return (Int.random(in: 1...12, using: &random), Int.random(in: 1...60, using: &random))
        }
        failingWhenStuck("insertions against limits that are set, split: \(hasSplit), seed \(seed)") {
            race(rounds: stressed(20_000)) { round in
                let limits = limits(round)
                if round & 1 == 0 { cache.countLimit = limits.count } else { cache.totalCostLimit = limits.cost }
            } _: { round in
                for step in 0..<3 {
                    let key = 3 * round + step
                    cache.setValue(key, forKey: key, cost: 1 + key % 25, recomputeCost: Double(key % 100))
                }
            } check: { _ in
                if cache.countLimit > 0, cache.count > cache.countLimit { excess.add(1, ordering: .relaxed) }
                if cache.totalCostLimit > 0, cache.totalCost > cache.totalCostLimit {
                    excess.add(1, ordering: .relaxed)
                }
            }
        }
        #expect(excess.load(ordering: .relaxed) == 0, "seed \(seed)")
        cache.engine._checkInvariants()
    }

    @Test("limits hold while others look", arguments: [1, 2, 8])
    func limitsHold(_ threads: Int) {
        let seed = Self.seed("limits hold")
        let cache = cache(hasSplit: true)
        (cache.countLimit, cache.totalCostLimit) = (500, 4000)
        let mostCount = Atomic<Int>(0)
        let mostCost = Atomic<Int>(0)
        failingWhenStuck("limits under \(threads) threads, seed \(seed)") {
            inParallel(threads) { thread in
                var random = SplitMix64(seed: seed &+ UInt64(thread))
                for step in 0..<stressed(10_000) {
                    let key = Int.random(in: 0..<3000, using: &random)
                    cache.setValue(
                        key,
                        forKey: key,
                        cost: Int.random(in: 0...(step % 50 == 0 ? 4000 : 40), using: &random)
                    )
                    if step % 16 == 0 {
                        mostCount.max(cache.count, ordering: .relaxed)
                        mostCost.max(cache.totalCost, ordering: .relaxed)
                    }
                }
            }
        }
        #expect(mostCount.load(ordering: .relaxed) <= 500)
        #expect(mostCost.load(ordering: .relaxed) <= 4000)
        cache.engine._checkInvariants()
    }

    @Test("a removal handler that inserts, with limits and credit")
    func insertingHandler() {
        nonisolated(unsafe) weak var weakCache: IntCache?
        let depth = Atomic<Int>(0)
        let cache = IntCache(
            totalCostLimit: 1000,
            options: .init(removalHandler: { key, value, _ in
                guard key >= 0 else { return }
                depth.max(value, ordering: .relaxed)
                weakCache?.setValue(value + 1, forKey: -1 - key, cost: 7)
            })
        )
        weakCache = cache
        failingWhenStuck("a handler that inserts") {
            inParallel(4) { thread in
                for key in 0..<stressed(3_000) { cache.setValue(0, forKey: key * 4 + thread, cost: key % 400) }
            }
        }
        #expect(cache.totalCost <= 1000)
        cache.engine._checkInvariants()
    }

    @Test("a name and a handler that are set at once both stay")
    func settings() {
        let engine = CacheEngine<Int, Int>()
        let lost = Atomic<Int>(0)
        race(rounds: stressed(10_000)) { round in
            engine.name = "\(round)"
        } _: { round in
            engine.removalObserver = round % 2 == 0 ? { _, _, _ in } : nil
        } check: { round in
            if engine.name != "\(round)" { lost.add(1, ordering: .relaxed) }
            if (engine.removalObserver == nil) != (round % 2 == 1) { lost.add(1, ordering: .relaxed) }
        }
        #expect(lost.load(ordering: .relaxed) == 0)
    }
}
