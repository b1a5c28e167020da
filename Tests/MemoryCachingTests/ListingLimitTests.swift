//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Lists of keys: those with a limit are the beginning of those without")
struct ListingLimitTests {
    private static let limits = [0, 1, 2, 10, 100, 1_000, 4_000, 50_000, .max]

    /// Before and after a split, with entries that have been used.
    @Test(arguments: [0, 1, 50, 3_000, 20_000]) func memoryCache(count: Int) {
        let cache = MemoryCache<Int, Int>()
        for key in 0..<count { cache.setValue(key, forKey: key, cost: 1 + key % 3) }
        for key in stride(from: 0, to: count, by: 7) { _ = cache[key] }
        let (hottest, coldest, entries) = (cache.hottestKeys(), cache.coldestKeys(), cache.entries())
        #expect(hottest.count == count && Set(hottest) == Set(coldest) && entries.map(\.key) == hottest)
        for limit in Self.limits {
            #expect(cache.hottestKeys(limit) == Array(hottest.prefix(limit)))
            #expect(cache.coldestKeys(limit) == Array(coldest.prefix(limit)))
            #expect(cache.entries(limit: limit).map(\.key) == Array(hottest.prefix(limit)))
        }
        #expect(cache.hottestKeys(-1).isEmpty && cache.coldestKeys(-1).isEmpty && cache.entries(limit: -1).isEmpty)
    }

    @Test(arguments: [0, 1, 50, 3_000, 20_000]) func purgeableCache(count: Int) {
        let cache = PurgeableCache<Int>()
        for key in 0..<count { cache.setBytes([UInt8(truncatingIfNeeded: key)], forKey: key) }
        for key in stride(from: 0, to: count, by: 7) { _ = cache.bytes(forKey: key) }
        let (hottest, coldest) = (cache.hottestKeys(), cache.coldestKeys())
        #expect(hottest.count == count && Set(hottest) == Set(coldest))
        for limit in Self.limits {
            #expect(cache.hottestKeys(limit) == Array(hottest.prefix(limit)))
            #expect(cache.coldestKeys(limit) == Array(coldest.prefix(limit)))
            #expect(cache.entries(limit: limit).map(\.key) == Array(hottest.prefix(limit)))
        }
        #expect(cache.hottestKeys(-1).isEmpty && cache.coldestKeys(-1).isEmpty && cache.entries(limit: -1).isEmpty)
    }

    /// What has been discarded does not count, and others take its place.
    @Test func discardedContentIsLeftOut() {
        let cache = MemoryCache<Int, Page>()
        var contents: [Page] = []
        for key in 0..<1_000 {
            contents.append(Page())
            cache[key] = contents[key]
        }
        let hottest = cache.hottestKeys()
        for key in hottest.prefix(700) { contents[key].discardContentIfPossible() }
        #expect(cache.entries(limit: 10).map(\.key) == Array(hottest[700..<710]))
        #expect(cache.entries(limit: 500).map(\.key) == Array(hottest[700...]))
    }

    /// A list of ten keys of a large cache holds no list of all: each part gives ten at most.
    @Test func eachPartGivesNoMoreThanIsAskedFor() {
        for end in [ListingEnd.coldest, .hottest] {
            for count in 0...12 {
                for limit in 0...15 {
                    let range = end.range(limit, of: count)
                    #expect(range.count == min(limit, count))
                    #expect(end == .coldest ? range.lowerBound == 0 : range.upperBound == count)
                }
            }
        }
    }
}
