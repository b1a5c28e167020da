//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// No call does the work of many, and an item takes what the documentation says.
@Suite struct PurgeableCacheWorkTests {
    /// Values are replaced at random, so that half of every segment is dead: no call cleans more than a part of one.
    @Test func noInsertionCleansManySegments() {
        var random = SplitMix64(seed: 11)
        let cache = PurgeableCache<Int>()
        let log = cache.store.log
        for key in 0..<30_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        var most = 0
        var largest = 0
        for _ in 0..<120_000 {
            let before = log.volatileBytes
            let key = Int.random(in: 0..<30_000, using: &random)
            cache.setBytes(bytes(of: key, count: 1000), forKey: key)
            most = max(most, before - log.volatileBytes)
            largest = max(largest, log.volatileBytes)
        }
        #expect(most <= 2 << 20, "freed by one call")
        #expect(largest <= 60 << 20, "30 MB alive, half as much dead, and what is filled meanwhile")
        for key in 0..<30_000 { #expect(cache.bytes(forKey: key) == bytes(of: key, count: 1000)) }
        #expect(cache.count == 30_000)
    }

    @Test func noInsertionSweepsTheWholeIndex() {
        var random = SplitMix64(seed: 12)
        let cache = PurgeableCache<Int>()
        for key in 0..<100_000 { cache.setBytes(bytes(of: key, count: 40), forKey: key) }
        cache.store.log.loseSealedPages(percent: 100, using: &random)
        var most = 0
        for key in 0..<400_000 {
            let before = cache.store.counters.purged.load(ordering: .relaxed)
            cache.setBytes([1, 2, 3], forKey: 1 << 20 | key)
            most = max(most, cache.store.counters.purged.load(ordering: .relaxed) - before)
        }
        #expect(cache.store.counters.purged.load(ordering: .relaxed) > 50_000, "insertions sweep bit by bit")
        // A step of the sweep, and a segment of 48 bytes an item that is emptied as a whole.
        #expect(most <= PurgeableChores.entriesPerStep + SegmentLog.segmentBytes / 48)
        #expect(cache.count <= 430_000)
    }

    /// Bytes of dead values that look like tags of the segment.
    @Test func bytesThatLookLikeTagsAreNotTakenForItems() {
        var random = SplitMix64(seed: 13)
        let cache = PurgeableCache<Int>()
        let words = (0..<128).map { _ in UInt64(1) << 48 | UInt64.random(in: 0..<1 << 48, using: &random) }
        let value = words.withUnsafeBytes { [UInt8]($0) }
        for key in 0..<12_000 { cache.setBytes(value, forKey: key) }
        for _ in 0..<60_000 { cache.setBytes(value, forKey: Int.random(in: 0..<12_000, using: &random)) }
        #expect(cache.count == 12_000)
        #expect(cache.totalCost == 12_000 * value.count)
        for key in 0..<12_000 { #expect(cache.bytes(forKey: key) == value) }
    }

    /// A segment that is half cleaned when the kernel takes pages of it: a page that the cleaner has looked at after
    /// its loss is still counted as lost.
    @Test func theCleanerNoticesLostPages() {
        var random = SplitMix64(seed: 14)
        let cache = PurgeableCache<Int>()
        let store = cache.store
        for key in 0..<4000 { cache.setBytes(bytes(of: key, count: 300 + key % 900), forKey: key) }
        store.log.sealActive()
        let numbers = store.log.sealedSegmentNumbers().map(\.number)
        store.chores.clean(SegmentPolicy.Decision(compact: numbers), of: store.log.takeCensus())
        store.log.loseSealedPages(percent: 50, using: &random)
        store.maintenance.alone { store.doChores() }
        #expect(store.chores.isAny, "in the midst of a segment")
        let count = cache.count
        #expect(count < 3000)
        #expect((0..<4000).count { cache.bytes(forKey: $0) != nil } == count)
    }

    /// The kernel is asked about some large values each time, and about all of them by turns.
    @Test func countAsksAboutSomeLargeValuesOnly() {
        let asked = Counter()
        let live = PageSystem.live
        let system = PageSystem(
            map: { live.map($0) },
            unmap: { live.unmap($0, $1) },
            advise: { live.advise($0, $1, $2) },
            residency: {
                asked.increment()
                return live.residency($0, $1, $2)
            }
        )
        let cache = PurgeableCache<Int>(system: system)
        for key in 0..<400 { cache.setBytes([UInt8](repeating: 1, count: 70_000), forKey: key) }
        #expect(cache.count == 400)
        let before = asked.value
        _ = cache.count
        #expect(asked.value - before <= PurgeableStore.largeValuesPerTurn)
        for shard in 0..<PurgeableStore.shardCount {
            for case let large? in cache.store.shards[shard].state.large { large.value.discardContentIfPossible() }
        }
        for _ in 0...(400 / PurgeableStore.largeValuesPerTurn) { _ = cache.count }
        #expect(cache.count == 0, "all have had their turn")
    }

    /// What an item takes beside its bytes, in the log and the index.
    @Test(arguments: [(100, 140), (504, 570), (512, 580), (1024, 1100), (1400, 1490)])
    func anItemTakesWhatIsSaid(byteCount: Int, most: Int) {
        let cache = PurgeableCache<Int>()
        let value = [UInt8](repeating: 1, count: byteCount)
        let count = 60_000
        for key in 0..<count { cache.setBytes(value, forKey: key) }
        let log = cache.store.log
        var taken = log.volatileBytes + log.ordinaryBytes - 2 * SegmentLog.segmentBytes
        for shard in 0..<PurgeableStore.shardCount { taken += cache.store.shards[shard].state.index.byteCount }
        #expect(taken / count <= most)
    }

    @Test func removingEverythingLeavesNothing() {
        let cache = PurgeableCache<String>()
        for key in 0..<50_000 { cache.setBytes([1, 2, 3], forKey: "key number \(key)") }
        cache.store.chores.policy = SegmentPolicy(capacity: 1 << 20)
        cache.removeAll()
        let keys = cache.store.keys as? KeySlots<String>
        #expect(keys != nil && (0..<PurgeableStore.shardCount).allSatisfy { keys?.chunkCount(shard: $0) == 0 })
        #expect(cache.count == 0)
        #expect(cache.store.chores.policy.capacity == nil, "what the kernel left room for then says nothing now")
        for key in 0..<1000 { cache.setBytes([4], forKey: "key number \(key)") }
        for key in 0..<1000 { #expect(cache.bytes(forKey: "key number \(key)") == [4]) }
    }
}
