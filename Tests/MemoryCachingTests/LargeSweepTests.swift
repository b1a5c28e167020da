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

/// Insertions that their shard cannot pay for, in a cache that is full of what has expired: one swept all of it.
@Suite("Large insertions among expired entries")
struct LargeSweepTests {
    private let clock = ManualClock()
    private let told = Told()

    private final class Told: Sendable {
        let expired = Atomic(0)
        let others = Atomic(0)
        /// What the handler does at its first call.
        let act = Mutex<(@Sendable () -> Void)?>(nil)
    }

    private func cache(_ limit: Int) -> MemoryCache<Int, Int> {
        let told = told
        let options = MemoryCacheOptions<Int, Int>(
            removalHandler: { _, _, cause in
                if cause == .expired {
                    told.expired.add(1, ordering: .relaxed)
                } else {
                    told.others.add(1, ordering: .relaxed)
                }
                told.act.withLock { $0.take() }?()
            },
            clock: clock,
            evictsUnderMemoryPressure: false
        )
        return MemoryCache(totalCostLimit: limit, options: options)
    }

    @Test("remove as many as they need the room of, and nothing that lives", arguments: [3_000, 30_000])
    func asManyAsNeeded(cost: Int) {
        let limit = 100_000
        let cache = cache(limit)
        for key in 0..<limit { cache.setValue(key, forKey: key, cost: 1, expiresAfter: .seconds(key % 2 == 0 ? 1 : 9)) }
        clock.advance(by: .seconds(1))
        let before = told.expired.load(ordering: .relaxed)
        #expect(cache.setValue(-1, forKey: -1, cost: cost, expiresAfter: .seconds(9)))
        let swept = told.expired.load(ordering: .relaxed) - before
        // A piece of each shard beyond it at most: what it has taken out lies in the shards' stocks until it is full.
        let shards = cache.engine.shardCount
        #expect(swept >= cost && swept <= cost + shards * (SweptPiece.mostEntries + 64), "\(swept) of \(shards) shards")
        #expect(told.others.load(ordering: .relaxed) == 0)
        #expect(cache.peekValue(forKey: -1) == -1)
    }

    @Test("remove none for what a handler inserts")
    func handlersSweepNothing() {
        let cache = cache(100_000)
        for key in 0..<100_000 { cache.setValue(key, forKey: key, cost: 1, expiresAfter: .seconds(1)) }
        clock.advance(by: .seconds(1))
        told.act.withLock { $0 = { cache.setValue(-1, forKey: -1, cost: 30_000, recomputeCost: 1e9) } }
        let before = told.expired.load(ordering: .relaxed)
        cache.setValue(0, forKey: 100_000, cost: 1)
        #expect(cache.peekValue(forKey: -1) == -1)
        #expect(told.expired.load(ordering: .relaxed) - before <= 2 * SweptPiece.mostEntries)
        #expect(told.others.load(ordering: .relaxed) >= 29_000)
    }
}
