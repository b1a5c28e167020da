//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Walks over all entries while these are moved to other slots and other shards.
@Suite("PurgeableCache: walks beside moves", .timeLimit(.minutes(10)))
struct PurgeableCacheWalkTests {
    private func makeCache<Key>(of: Key.Type) -> PurgeableCache<Key> {
        PurgeableCache<Key>(options: .init(evictsUnderMemoryPressure: false))
    }

    /// Sets and removes so many keys that shards give memory back.
    private func churn<Key>(_ cache: PurgeableCache<Key>, _ count: Int, _ key: (Int) -> Key) {
        for number in 0..<count { cache.setBytes([1], forKey: key(1_000_000 + number)) }
        for number in 0..<count { cache.removeBytes(forKey: key(1_000_000 + number)) }
    }

    private func deals<Key>(_ cache: PurgeableCache<Key>) -> Int {
        (0..<PurgeableStore.shardCount).reduce(0) { sum, shard in
            sum + cache.store.locked(shard: shard) { $0.deals }
        }
    }

    @Test("A predicate that has entries moved all the time is asked about each a few times", arguments: [100, 1_500])
    func movingPredicate(count: Int) {
        let cache = makeCache(of: Int.self)
        for key in 0..<count { cache.setBytes([UInt8(key & 0xFF)], forKey: key) }
        var calls = 0
        var asked = Set<Int>()
        cache.removeAll { key in
            calls += 1
            if key < count { asked.insert(key) }
            if calls % (count / 20) == 0, calls < 50 * count { churn(cache, 1_000 + 5 * count) { $0 } }
            return key % 2 == 0
        }
        #expect(deals(cache) > 5)
        #expect(asked.count == count)
        // A walk that began anew with each move would still be at it.
        #expect(calls < 20 * count, "\(calls)")
        #expect((0..<count).allSatisfy { cache.contains($0) == ($0 % 2 != 0) })
    }

    /// What was met is removed after the predicate has been asked about all of a piece.
    @Test("Entries that move within the piece that a walk has met are removed all the same")
    func movingWithin() {
        let cache = makeCache(of: Int.self)
        for key in 0..<3_000 { cache.setBytes([1], forKey: key) }
        // Just more than a quarter of the slots stay in use, the lowest.
        for key in 760..<3_000 { cache.removeBytes(forKey: key) }
        #expect(deals(cache) == 0)
        var isFirst = true
        cache.removeAll { _ in
            if isFirst { for key in 0..<20 { cache.removeBytes(forKey: key) } }
            isFirst = false
            return true
        }
        #expect(deals(cache) > 0)
        #expect(cache.count == 0)
    }

    /// The split moves entries from the first shard to all others while the walk is in it.
    @Test("A walk passes over nothing while the cache splits and shrinks")
    func split() {
        let cache = makeCache(of: String.self)
        let count = PurgeableStore.splitCount - 200
        for key in 0..<count { cache.setBytes([1], forKey: "\(key)") }
        #expect(cache.store.shardMask.load(ordering: .relaxed) == 0)
        var asked: [String: Int] = [:]
        cache.removeAll { key in
            asked[key, default: 0] += 1
            if asked.count == count / 2 { churn(cache, 400) { "\($0)" } }
            return false
        }
        #expect(cache.store.shardMask.load(ordering: .relaxed) > 0)
        #expect((0..<count).allSatisfy { asked["\($0)"] != nil })
        // Those that the walk had met may have come before it once more, in the shard that they moved to.
        #expect((0..<count).allSatisfy { asked["\($0)"]! <= 2 })
        #expect(cache.entries().count == count)
    }

    /// As a thread that inserts meanwhile does it. A list may end before the split says that it has moved entries.
    @Test("A list that the split overtakes has each entry once")
    func listBesideSplit() async {
        for _ in 0..<100 {
            let cache = makeCache(of: Int.self)
            let count = PurgeableStore.splitCount - 20
            for key in 0..<count { cache.setBytes([1], forKey: key) }
            let growth = Task.detached { for key in count..<count + 100 { cache.setBytes([1], forKey: key) } }
            var isGrown = false
            while !isGrown {
                isGrown = cache.store.shardMask.load(ordering: .acquiring) > 0
                let keys = cache.hottestKeys(.max)
                #expect(Set(keys).count == keys.count)
                #expect(Set(keys).isSuperset(of: 0..<count))
            }
            await growth.value
        }
    }

    @Test("Lists have each entry once, whatever has moved")
    func lists() {
        let cache = makeCache(of: Int.self)
        for count in [10, 5_000, 20_000, 300] {
            for key in 0..<count { cache.setBytes([1], forKey: key) }
            cache.removeAll { $0 >= count }
            let keys = cache.hottestKeys(.max)
            #expect(keys.count == count && Set(keys) == Set(0..<count))
        }
    }
}
