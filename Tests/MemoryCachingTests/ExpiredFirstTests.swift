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

/// Limits that are lowered, and trims, while entries are held whose lifetime is over.
@Suite("Entries whose lifetime is over leave before others are evicted")
struct ExpiredFirstTests {
    enum Lowering: CaseIterable { case countLimit, costLimit, trimToCount, trimToCost }

    private func lower(_ cache: EitherCache<Int>, to count: Int, by way: Lowering) {
        switch (cache.kind, way) {
        case (.memory(let cache), .countLimit): cache.countLimit = count
        case (.memory(let cache), .costLimit): cache.totalCostLimit = 8 * count
        case (.memory(let cache), .trimToCount): cache.trim(toCount: count)
        case (.memory(let cache), .trimToCost): cache.trim(toCost: 8 * count)
        case (.purgeable(let cache), .countLimit): cache.countLimit = count
        case (.purgeable(let cache), .costLimit): cache.totalCostLimit = 8 * count
        case (.purgeable(let cache), .trimToCount): cache.trim(toCount: count)
        case (.purgeable(let cache), .trimToCost): cache.trim(toCost: 8 * count)
        }
    }

    private func store(_ key: Int, in cache: EitherCache<Int>, expiresAfter lifetime: Duration?) {
        switch cache.kind {
        case .memory(let cache):
            if let lifetime {
                cache.setValue(key, forKey: key, cost: 8, expiresAfter: lifetime)
            } else {
                cache.setValue(key, forKey: key, cost: 8)
            }
        case .purgeable:
            if let lifetime { cache.setValue(key, forKey: key, expiresAfter: lifetime) } else { cache[key] = key }
        }
    }

    @Test(arguments: CacheKind.allCases, Lowering.allCases)
    func theLivingStay(_ kind: CacheKind, _ way: Lowering) {
        let clock = ManualClock()
        let causes = Mutex<[RemovalCause: Int]>([:])
        let options = MemoryCacheOptions<Int, Int>(
            removalHandler: { _, _, cause in causes.withLock { $0[cause, default: 0] += 1 } },
            clock: clock,
            evictsUnderMemoryPressure: false
        )
        let cache = EitherCache<Int>(kind, options: options)
        for key in 0..<1_000 { store(key, in: cache, expiresAfter: key < 500 ? nil : .seconds(1)) }
        clock.advance(by: .seconds(1))
        lower(cache, to: 500, by: way)
        #expect((0..<500).allSatisfy { cache[$0] == $0 })
        #expect(causes.withLock { $0 } == [.expired: 500])
        lower(cache, to: 400, by: way)
        #expect(cache.count == 400)
    }
}
