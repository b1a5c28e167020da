//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

private final class Living: Sendable {
    static let count = Atomic<Int>(0)
    let number: Int
    init(_ number: Int) {
        self.number = number
        Self.count.add(1, ordering: .relaxed)
    }
    deinit { Self.count.subtract(1, ordering: .relaxed) }
}

/// A key with an `==` of its own, so that it is compared outside the lock.
private struct ForeignKey: Hashable, Sendable {
    var name: Int
    static func == (left: Self, right: Self) -> Bool { left.name == right.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name / 2) }
}

@Suite("Engine under threads", .serialized)
struct EngineConcurrencyTests {
    @Test("a count limit holds at every moment", arguments: [1, 10, 100, 5000])
    func countLimit(_ limit: Int) {
        let cache = MemoryCache<Int, Int>(countLimit: limit, options: .init(evictsUnderMemoryPressure: false))
        let most = Atomic<Int>(0)
        let rounds = limit > 1000 ? 6_000 : 2_000
        inParallel(8) { thread in
            var random = SplitMix64(seed: UInt64(thread))
            for _ in 0..<rounds {
                let key = Int.random(in: 0..<limit * 3 + 2, using: &random)
                if cache.value(forKey: key) == nil { cache.setValue(key, forKey: key) }
                most.max(cache.count, ordering: .relaxed)
            }
        }
        #expect(most.load(ordering: .relaxed) <= limit)
        #expect(cache.count == limit)
        cache.engine._checkInvariants()
    }

    @Test("a cost limit holds at every moment", arguments: [1, 10, 100, 100_000])
    func costLimit(_ limit: Int) {
        let cache = MemoryCache<Int, Int>(totalCostLimit: limit, options: .init(evictsUnderMemoryPressure: false))
        let most = Atomic<Int>(0)
        inParallel(8) { thread in
            var random = SplitMix64(seed: UInt64(thread))
            for _ in 0..<(limit > 1000 ? 6_000 : 2_000) {
                let key = Int.random(in: 0..<limit + 20, using: &random)
                cache.setValue(key, forKey: key, cost: Int.random(in: 0...min(limit + 1, 20), using: &random))
                most.max(cache.totalCost, ordering: .relaxed)
            }
        }
        #expect(most.load(ordering: .relaxed) <= limit)
        cache.engine._checkInvariants()
    }

    @Test("every departure is told once, and no value outlives the cache")
    func departures() {
        let departed = Atomic<Int>(0)
        do {
            let options = MemoryCacheOptions<ForeignKey, Living>(
                removalHandler: { _, value, _ in
                    precondition(value.number >= 0)
                    departed.add(1, ordering: .relaxed)
                },
                evictsUnderMemoryPressure: false
            )
            let cache = MemoryCache<ForeignKey, Living>(countLimit: 6000, totalCostLimit: 50_000, options: options)
            inParallel(8) { thread in
                var random = SplitMix64(seed: UInt64(thread))
                for round in 0..<5_000 {
                    let key = ForeignKey(name: Int.random(in: 0..<9000, using: &random))
                    switch round % 16 {
                    case 0: cache.removeValue(forKey: key)
                    case 1...7: #expect(cache.value(forKey: key).map { $0.number == key.name } ?? true)
                    default: cache.setValue(Living(key.name), forKey: key, cost: round % 20)
                    }
                    if thread == 0, round % 1000 == 500 { cache.removeAll() }
                    if thread == 1, round % 500 == 250 { cache.trim(toCount: 3000) }
                    if thread == 2, round % 300 == 150 { cache.countLimit = round % 600 == 150 ? 2 : 6000 }
                }
            }
            cache.engine._checkInvariants()
            let statistics = cache.statistics
            // What is refused was never in, but its departure is told of.
            #expect(statistics.insertions + statistics.refusals == departed.load(ordering: .relaxed) + cache.count)
            #expect(Living.count.load(ordering: .relaxed) == cache.count)
        }
        #expect(Living.count.load(ordering: .relaxed) == 0)
    }

    @Test("lifetimes, sweeps and snapshots beside readers and writers")
    func lifetimes() {
        let clock = ManualClock()
        let cache = MemoryCache<String, Int>(
            countLimit: 200,
            options: .init(clock: clock, evictsUnderMemoryPressure: false)
        )
        inParallel(4) { thread in
            for round in 0..<3_000 {
                let key = "\((round * 7 + thread) % 300)"
                cache.setValue(round, forKey: key, cost: 1, expiresAfter: .milliseconds(round % 5))
                _ = cache.value(forKey: key)
                if round % 10 == 0 { clock.advance(by: .milliseconds(1)) }
                if round % 100 == 0 { _ = cache.coldestKeys(5) }
            }
        }
        clock.advance(by: .seconds(1))
        #expect(cache.count == 0)
        cache.engine._checkInvariants()
    }
}
