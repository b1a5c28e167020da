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

/// What happens when pages go: values may be missing, never wrong, and the books say how many there are.
@Suite struct PurgeableCachePurgeTests {
    private func seed(_ name: String) -> SplitMix64 {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCachePurgeTests.\(name): seed \(seed)")
        return SplitMix64(seed: seed)
    }

    @Test func aPurgeOnlyTurnsValuesIntoMisses() {
        var random = seed("aPurgeOnlyTurnsValuesIntoMisses")
        let cache = PurgeableCache<Int>()
        var model: [Int: Int] = [:]
        var missed = 0
        for step in 0..<30_000 {
            let key = Int.random(in: 0..<8000, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let count = Int.random(in: 0..<(key % 16 == 0 ? 9000 : 700), using: &random)
                cache.setBytes(bytes(of: key, count: count), forKey: key)
                model[key] = count
            case 4..<9:
                if let found = cache.bytes(forKey: key) {
                    #expect(model[key].map { bytes(of: key, count: $0) } == found)
                } else if model.removeValue(forKey: key) != nil {
                    missed += 1
                }
            default: #expect(cache.removeBytes(forKey: key) ? model.removeValue(forKey: key) != nil : true)
            }
            if step % 5000 == 4999 { cache.store.log.loseSealedPages(percent: 3, using: &random) }
        }
        #expect(missed > 0, "pages must have been lost for this to test anything")
        let count = cache.count
        let cost = cache.totalCost
        let held = model.filter { cache.bytes(forKey: $0.key) != nil }
        #expect(held.count == count, "count is what can be read")
        #expect(held.values.reduce(0, +) == cost)
        #expect(cache.statistics.purged > 0)
        #expect(cache.store.staleCount.load(ordering: .relaxed) == 0)
    }

    @Test func stringKeyedPurges() {
        var random = seed("stringKeyedPurges")
        let cache = PurgeableCache<String>()
        for key in 0..<20_000 { cache.setBytes(bytes(of: key, count: 300), forKey: "a long enough key \(key)") }
        cache.store.log.loseSealedPages(percent: 50, using: &random)
        let count = cache.count
        #expect(count > 5000 && count < 15_000)
        var held = 0
        for key in 0..<20_000 {
            guard let found = cache.bytes(forKey: "a long enough key \(key)") else { continue }
            held += 1
            #expect(found == bytes(of: key, count: 300))
        }
        #expect(held == count)
        for key in 0..<20_000 { cache.setBytes([1], forKey: "a long enough key \(key)") }
        #expect(cache.count == 20_000)
    }

    @Test func theKernelTakesSealedPagesAndTheCensusNotices() {
        let cache = PurgeableCache<Int>()
        for key in 0..<10_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        cache.store.log.sealActive()
        let before = cache.statistics
        #expect(before.count == 10_000)
        #expect(before.volatileBytes >= 10_000_000)
        for (number, _, _) in cache.store.log.sealedSegmentNumbers() {
            let segment = cache.store.log.table[number]
            _ = PageSystem.live.advise(segment.pointee.base, Segment.byteCount, .pageOut)
        }
        let after = cache.statistics
        // MADV_PAGEOUT may leave a page that is just being looked at; nearly all must have gone.
        #expect(after.count < 1000)
        #expect(after.purged == 10_000 - after.count)
        #expect(after.volatileBytes < 1_000_000)
        for key in 0..<10_000 {
            if let found = cache.bytes(forKey: key) { #expect(found == bytes(of: key, count: 1000)) }
        }
        cache.setBytes([7], forKey: 3)
        #expect(cache.bytes(forKey: 3) == [7])
    }

    @Test func largeValuesAreNoticedToo() {
        let cache = PurgeableCache<Int>()
        for key in 0..<8 { cache.setBytes(bytes(of: key, count: 100_000 + key), forKey: key) }
        #expect(cache.count == 8)
        for case let large? in cache.store.shards[0].state.large where large.location.largePlace % 2 == 0 {
            large.value.discardContentIfPossible()
        }
        #expect(cache.count == 4)
        #expect(cache.statistics.purged == 4)
        var held = 0
        for key in 0..<8 {
            guard let found = cache.bytes(forKey: key) else { continue }
            held += 1
            #expect(found == bytes(of: key, count: 100_000 + key))
        }
        #expect(held == 4)
    }

    @Test func aReadThatFindsAPurgeCountsAsAMiss() {
        let cache = PurgeableCache<Int>()
        var random = SplitMix64(seed: 1)
        for key in 0..<100 { cache.setBytes(bytes(of: key, count: 100), forKey: key) }
        cache.store.log.sealActive()
        cache.store.log.loseSealedPages(percent: 100, using: &random)
        #expect(cache.bytes(forKey: 1) == nil)
        #expect(cache.withBytes(forKey: 2) { $0.byteCount } == nil)
        #expect(!cache.contains(3))
        #expect(!cache.removeBytes(forKey: 4) || cache.count == 0)
        let statistics = cache.statistics
        #expect(statistics.hits == 0)
        #expect(statistics.misses == 2)
        #expect(statistics.count == 0)
    }

    @Test func whatIsDeadIsCleanedUp() {
        let cache = PurgeableCache<Int>(totalCostLimit: 4 << 20)
        for key in 0..<100_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key % 6000) }
        #expect(cache.totalCost <= 4 << 20)
        #expect(cache.store.log.volatileBytes < 24 << 20, "100 MB went through: \(cache.store.log.volatileBytes)")
        var held = 0
        for key in 0..<6000 {
            guard let found = cache.bytes(forKey: key) else { continue }
            held += 1
            #expect(found == bytes(of: 96_000 + key < 100_000 ? 96_000 + key : 90_000 + key, count: 1000))
        }
        #expect(held == cache.count)
    }

    /// The last value of a sealed segment: its removal retires the segment, whose pages must be asked about before.
    @Test func theRemovalOfAValueThatIsLostSaysSo() {
        var random = SplitMix64(seed: 1)
        for others in [0, 3] {
            let cache = PurgeableCache<Int>()
            for key in 0...others { cache.setBytes(bytes(of: key, count: 5000), forKey: key) }
            cache.store.log.sealActive()
            cache.store.log.loseSealedPages(percent: 100, using: &random)
            #expect(!cache.contains(0))
            #expect(!cache.removeBytes(forKey: 0), "beside \(others)")
            #expect(cache.store.counters.removed.load(ordering: .relaxed) == 0)
            #expect(cache.count == 0)
        }
        let cache = PurgeableCache<Int>()
        cache.setBytes(bytes(of: 0, count: 5000), forKey: 0)
        cache.store.log.sealActive()
        #expect(cache.removeBytes(forKey: 0), "nothing is lost")
    }

    private func slots(_ cache: PurgeableCache<some Hashable>) -> Int {
        (0..<PurgeableStore.shardCount).reduce(0) { $0 + cache.store.shards[$1].state.index.slotCount }
    }

    /// Every eviction goes over the slots, used or not: those that are not must become few.
    @Test func slotsComeBack() {
        let chunks = PurgeableStore.shardCount * PurgeableIndex.chunkSize
        let removed = PurgeableCache<String>()
        for key in 0..<50_000 { removed.setBytes([1, 2, 3], forKey: "key number \(key)") }
        #expect(slots(removed) >= 50_000)
        for key in 1000..<50_000 { removed.removeBytes(forKey: "key number \(key)") }
        #expect(slots(removed) <= chunks)
        for key in 0..<1000 { #expect(removed.bytes(forKey: "key number \(key)") == [1, 2, 3]) }
        #expect(removed.count == 1000)
        let evicted = PurgeableCache<String>()
        for key in 0..<50_000 { evicted.setBytes([1, 2, 3], forKey: "key number \(key)") }
        evicted.countLimit = 10
        #expect(slots(evicted) <= chunks)
        #expect(evicted.count == 10)
        #expect((0..<50_000).count { evicted.bytes(forKey: "key number \($0)") != nil } == 10)
    }

    /// Entries that move to lower slots are gone over in the same order as before.
    @Test func theOrderOfEvictionOutlivesShrinking() {
        let cache = PurgeableCache<Int>()
        for key in 0..<1000 { cache.setBytes([1], forKey: key) }
        cache.trim(toCount: 700)
        for key in 1000..<1100 { cache.setBytes([1], forKey: key) }
        for key in 1050..<1100 { cache.removeBytes(forKey: key) }
        for key in 300..<810 { cache.removeBytes(forKey: key) }
        #expect(slots(cache) < 250)
        cache.trim(toCount: 50)
        #expect((1000..<1050).allSatisfy { cache.contains($0) }, "the newest stay")
    }
}
