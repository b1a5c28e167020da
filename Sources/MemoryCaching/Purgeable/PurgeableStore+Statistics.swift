//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

extension PurgeableStore {
    var statistics: CacheStatistics {
        removeExpired()
        maintain(.question)
        var statistics = CacheStatistics()
        for shard in 0..<Self.shardCount {
            let shardCounters = locked(shard: shard) { $0.counters }
            statistics.hits += shardCounters.hits
            statistics.misses += shardCounters.misses
            statistics.insertions += shardCounters.insertions
        }
        counters.write(to: &statistics)
        statistics.count = room.count.held
        statistics.totalCost = room.bytes.held
        statistics.volatileBytes = residentBytes.load(ordering: .relaxed) + largeBytes.load(ordering: .relaxed)
        return statistics
    }
}
