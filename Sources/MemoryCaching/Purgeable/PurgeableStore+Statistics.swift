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
            let (lookups, insertions) = locked(shard: shard) { ($0.lookups, $0.insertions) }
            statistics.hits += lookups.hits
            statistics.misses += lookups.misses
            statistics.insertions += insertions
        }
        counters.write(to: &statistics)
        pressure?.write(to: &statistics)
        statistics.count = room.count
        statistics.totalCost = room.byteCount
        statistics.volatileBytes = residentBytes.load(ordering: .relaxed) + largeBytes.load(ordering: .relaxed)
        return statistics
    }
}
