//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// The one split of a ``PurgeableCache``, while others walk over all of its shards.
@Suite struct PurgeableSplitTests {
    /// What walks over all shards, whether they are in use yet or not.
    enum Walk: CaseIterable { case count, statistics, trim, removeAll }

    @Test("the split, beside walks over all shards", arguments: Walk.allCases)
    func split(beside walk: Walk) {
        failingWhenStuck("a split beside \(walk)") {
            for round in 0..<stressed(3) { splitOnce(beside: walk, round) }
        }
    }

    private func splitOnce(beside walk: Walk, _ round: Int) {
        let cache = PurgeableCache<Int>()
        let largeCount = 31
        let last = PurgeableStore.splitCount + 64
        for key in 0..<largeCount { cache.setBytes([UInt8](repeating: UInt8(key), count: 65_600), forKey: key) }
        for key in largeCount..<PurgeableStore.splitCount - 1 { cache.setBytes([UInt8(key & 0xFF)], forKey: key) }
        let isDone = Atomic<Bool>(false)
        inParallel(2) { thread in
            if thread == 0 {
                for key in PurgeableStore.splitCount - 1..<last { cache.setBytes([UInt8(key & 0xFF)], forKey: key) }
                isDone.store(true, ordering: .releasing)
                return
            }
            repeat {
                switch walk {
                case .count: _ = cache.count
                case .statistics: _ = cache.statistics
                case .trim: cache.trim(toCount: .max)
                case .removeAll: cache.removeAll()
                }
            } while !isDone.load(ordering: .acquiring)
        }
        var there = 0
        for key in 0..<last {
            guard let bytes = cache.bytes(forKey: key) else { continue }
            there += 1
            #expect(bytes.allSatisfy { $0 == UInt8(key & 0xFF) }, "round \(round), key \(key)")
        }
        #expect(walk == .removeAll || there == last, "round \(round)")
        #expect(cache.count == there, "round \(round)")
        cache.removeAll()
        #expect(cache.count == 0 && cache.totalCost == 0, "round \(round)")
    }
}
