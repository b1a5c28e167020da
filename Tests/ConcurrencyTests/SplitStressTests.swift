//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// The splits of a cache, the first and the second, while others use it and walk over all of its shards.
@Suite("Splits under threads", .serialized)
struct SplitStressTests {
    private typealias Cache = MemoryCache<Int, Int>

    private func makeCache() -> Cache { Cache(options: .init(evictsUnderMemoryPressure: false)) }

    @Test("nothing is lost while shards become more", arguments: [2, 8, 32])
    func nothingIsLost(threads: Int) {
        failingWhenStuck("splits with \(threads) threads") {
            for _ in 0..<stressed(1) {
                let cache = makeCache()
                let share = 80_000 / threads
                let lost = Atomic<Int>(0)
                inParallel(threads) { thread in
                    let first = thread * 100_000
                    for key in first..<first + share {
                        cache[key] = key
                        let earlier = (first + key) / 2
                        if cache[key] != key || cache[earlier] != earlier { lost.add(1, ordering: .relaxed) }
                    }
                }
                #expect(lost.load(ordering: .relaxed) == 0)
                #expect(cache.engine.shardCount == CacheEngine<Int, Int>.mostShardCount)
                #expect(cache.count == share * threads)
                #expect(cache.statistics.misses == 0)
                #expect(cache.statistics.hits == share * threads * 2)
                cache.engine._checkInvariants()
            }
        }
    }

    /// What goes over all shards, whatever directory it began with.
    enum Walk: CaseIterable { case statistics, totalCost, keys, sweep, removeAll, trim, limits }

    @Test("splits beside walks over all shards", arguments: Walk.allCases)
    func walks(beside walk: Walk) {
        failingWhenStuck("splits beside \(walk)") {
            for round in 0..<stressed(1) { split(beside: walk, round) }
        }
    }

    private func split(beside walk: Walk, _ round: Int) {
        let cache = makeCache()
        let last = 80_000
        let isDone = Atomic<Bool>(false)
        inParallel(2) { thread in
            if thread == 0 {
                for key in 0..<last { cache.setValue(key, forKey: key, cost: 1) }
                isDone.store(true, ordering: .releasing)
                return
            }
            var insertions = 0
            repeat {
                switch walk {
                case .statistics:
                    // Each shard is counted once: less than before would be one left out, more than there are one
                    // twice.
                    let now = cache.statistics.insertions
                    #expect(now >= insertions && now <= last)
                    insertions = now
                case .totalCost: #expect(cache.totalCost <= last)
                case .keys:
                    let before = cache.count
                    #expect(cache.hottestKeys().count >= before)
                case .sweep: cache.removeAll { $0 < 0 }
                case .removeAll: cache.removeAll()
                case .trim: cache.trim(toCount: .max)
                case .limits:
                    cache.countLimit = 200_000
                    cache.totalCostLimit = 1 << 40
                }
            } while !isDone.load(ordering: .acquiring)
        }
        let there = (0..<last).count { cache[$0] == $0 }
        #expect(walk == .removeAll || there == last, "round \(round)")
        #expect(cache.count == there && cache.totalCost == there, "round \(round)")
        #expect(cache.statistics.insertions == last, "round \(round)")
        cache.engine._checkInvariants()
        cache.removeAll()
        #expect(cache.count == 0 && cache.totalCost == 0, "round \(round)")
    }

    @Test("limits hold while shards become more", arguments: [5_000, 70_000])
    func limits(count: Int) {
        failingWhenStuck("splits at a limit of \(count)") {
            let cache = Cache(
                countLimit: count,
                totalCostLimit: count * 3,
                options: .init(evictsUnderMemoryPressure: false)
            )
            let seed = UInt64.random(in: 0...UInt64.max)
            print("seed \(seed)")
            let exceeded = Atomic<Int>(0)
            inParallel(4) { thread in
                var random = SplitMix64(seed: seed &+ UInt64(thread))
                for call in 0..<count {
                    let key = Int.random(in: 0..<count * 2, using: &random)
                    cache.setValue(key, forKey: key, cost: key % 5 + 1)
                    if cache.count > count || (call % 1024 == 0 && cache.totalCost > count * 3) {
                        exceeded.add(1, ordering: .relaxed)
                    }
                }
            }
            #expect(exceeded.load(ordering: .relaxed) == 0)
            cache.engine._checkInvariants()
            #expect((0..<count * 2).allSatisfy { cache[$0] == nil || cache[$0] == $0 })
        }
    }
}
