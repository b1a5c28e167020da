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

@Suite("PurgeableCache: when many values leave together")
struct PurgeableCacheTellingTests {
    private let clock = ManualClock()

    /// What handlers keep: for which keys they were called, how deep inside one another, and the largest of some
    /// numbers.
    private final class Telling: Sendable {
        private struct State {
            var keys: [Int] = []
            var depth = 0
            var deepest = 0
            var largestNote = 0
        }
        private let state = Mutex(State())

        var keys: [Int] { state.withLock(\.keys) }
        var count: Int { state.withLock(\.keys.count) }
        var depth: Int { state.withLock(\.depth) }
        var deepest: Int { state.withLock(\.deepest) }
        var largestNote: Int { state.withLock(\.largestNote) }

        func note(_ number: Int) { state.withLock { $0.largestNote = max($0.largestNote, number) } }

        func callAsFunction(of key: Int, _ body: () -> Void) {
            state.withLock { state in
                state.keys.append(key)
                state.depth += 1
                state.deepest = max(state.deepest, state.depth)
            }
            body()
            state.withLock { $0.depth -= 1 }
        }
    }

    /// A cache with `count` values that expire after a second, and what its handler is to do.
    private func cache(
        of count: Int,
        _ handler: @escaping @Sendable (PurgeableCache<Int>, Int) -> Void
    ) -> PurgeableCache<Int> {
        let owner = Owner()
        let options = MemoryCacheOptions<Int, [UInt8]>(
            removalHandler: { key, _, _ in if let cache = owner.cache { handler(cache, key) } },
            clock: clock,
            evictsUnderMemoryPressure: false
        )
        let cache = PurgeableCache<Int>(options: options)
        owner.cache = cache
        // Of one byte: all of them lie in the active segment, which the kernel cannot take.
        for key in 0..<count { cache.setBytes([1], forKey: key, expiresAfter: .seconds(1)) }
        return cache
    }

    /// The cache that a handler belongs to.
    private final class Owner: Sendable {
        private struct Place { weak var cache: PurgeableCache<Int>? }
        private let place = Mutex(Place())

        var cache: PurgeableCache<Int>? {
            get { place.withLock { $0.cache } }
            set { place.withLock { $0.cache = newValue } }
        }
    }

    @Test("A sweep of many goes round the shards, a few values of each at a time")
    func takesTurns() {
        let told = Telling()
        let cache = cache(of: 20_000) { _, key in told(of: key) {} }
        let store = cache.store
        #expect(store.shardMask.load(ordering: .relaxed) == PurgeableStore.shardCount - 1)
        clock.advance(by: .seconds(1))
        #expect(cache.count == 0)
        let shards = told.keys.map { store.hash(UInt64($0)).shard(mask: PurgeableStore.shardCount - 1) }
        #expect(shards.count == 20_000)
        #expect(takeTurns(shards))
    }

    /// What lets go of all values, or of all but one.
    enum Removal: CaseIterable {
        case expiry, all, trimToCount, trimToCost, countLimit, costLimit
    }

    @Test("The handler is told bit by bit, so that copies of few values exist", arguments: Removal.allCases)
    func tellsEarly(_ removal: Removal) {
        let told = Telling()
        let cache = cache(of: 20_000) { cache, key in
            told(of: key) {
                // What has left the cache and has not been told of is copied in ordinary memory.
                let store = cache.store
                let held = (0..<PurgeableStore.shardCount).reduce(0) { sum, shard in
                    sum + store.locked(shard: shard) { $0.index.count }
                }
                told.note(20_000 - held - told.count)
            }
        }
        switch removal {
        case .expiry:
            clock.advance(by: .seconds(1))
            cache.store.removeExpired()
        case .all: cache.removeAll()
        case .trimToCount: cache.trim(toCount: 0)
        case .trimToCost: cache.trim(toCost: 0)
        case .countLimit: cache.countLimit = 1
        case .costLimit: cache.totalCostLimit = 1
        }
        #expect(told.count == (removal == .countLimit || removal == .costLimit ? 19_999 : 20_000))
        #expect(told.largestNote < SweptPiece.mostEntries)
    }

    @Test("A handler that puts back values which expire at once neither keeps a sweep going nor calls itself")
    func putsBack() {
        let told = Telling()
        let cache = cache(of: 1_000) { cache, key in
            told(of: key) {
                // Two, because the second insertion could remove the first one's value.
                guard told.count < 5_000, told.depth < 50 else { return }
                let fresh = 10_000 + 2 * told.count
                cache.setBytes([2], forKey: fresh, expiresAfter: .zero)
                cache.setBytes([2], forKey: fresh + 1, expiresAfter: .zero)
            }
        }
        clock.advance(by: .seconds(1))
        cache.store.removeExpired()
        #expect(told.keys.count(where: { $0 < 1_000 }) == 1_000)
        #expect(told.count <= 1_000 + SweptPiece.mostEntries)
        #expect(told.deepest == 1)
    }

    @Test("A handler that asks for the count during a sweep is called no more than two levels deep")
    func countInHandler() {
        let told = Telling()
        let cache = cache(of: 20_000) { cache, key in
            told(of: key) { if told.depth < 50 { _ = cache.count } }
        }
        clock.advance(by: .seconds(1))
        #expect(cache.count == 0)
        #expect(told.count == 20_000)
        #expect(told.deepest <= 2)
    }
}
