//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Testing
@testable import TieredCaching

@Suite("The statistics of tiers, for people")
struct StatisticsTextTests {
    @Test("What has not happened is not mentioned")
    func nothing() {
        #expect("\(TieredCacheStatistics())" == "near         0 hits\nremote       0 hits")
    }

    @Test("Everything that has happened is")
    func everything() {
        var near = CacheStatistics()
        near.count = 12_034
        let statistics = TieredCacheStatistics(
            nearHits: 120_334,
            remoteHits: 8896,
            loads: 3012,
            loadFailures: 2,
            leaseWaits: 40,
            staleHits: 12,
            invalidations: 5120,
            generations: 3,
            remoteFailures: 13,
            remoteSkips: 301,
            refusedFills: 4,
            unstorable: 5,
            undecodable: 6,
            near: near
        )
        let expected = """
            near         120,334 hits, 12 stale, 12,034 entries
            remote       8,896 hits, 13 failures, 301 skipped, 4 refused fills, 5 not storable, 6 not decodable
            loads        3,012, 2 failed, 40 waited for another process
            changes      5,120 keys, 3 generations
            """
        #expect("\(statistics)" == expected)
    }
}
