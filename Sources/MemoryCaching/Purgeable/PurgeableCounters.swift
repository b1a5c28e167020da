//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// What is counted outside of the shards: what becomes of an entry is known when its shard's lock has been let go of.
struct PurgeableCounters: ~Copyable {
    let refusals = Atomic<Int>(0)
    let purged = Atomic<Int>(0)
    let countLimit = Atomic<Int>(0)
    let costLimit = Atomic<Int>(0)
    let memoryPressure = Atomic<Int>(0)
    let replaced = Atomic<Int>(0)
    let removed = Atomic<Int>(0)
    let expired = Atomic<Int>(0)

    func refused() { refusals.wrappingAdd(1, ordering: .relaxed) }

    func removed(_ count: Int, _ cause: RemovalCause) {
        guard count > 0 else { return }
        switch cause {
        case .countLimit: countLimit.wrappingAdd(count, ordering: .relaxed)
        case .costLimit: costLimit.wrappingAdd(count, ordering: .relaxed)
        case .memoryPressure: memoryPressure.wrappingAdd(count, ordering: .relaxed)
        case .replaced: replaced.wrappingAdd(count, ordering: .relaxed)
        case .removed: removed.wrappingAdd(count, ordering: .relaxed)
        case .expired: expired.wrappingAdd(count, ordering: .relaxed)
        case .discarded: purged.wrappingAdd(count, ordering: .relaxed)
        }
    }

    func write(to statistics: inout CacheStatistics) {
        statistics.refusals = refusals.load(ordering: .relaxed)
        statistics.purged = purged.load(ordering: .relaxed)
        statistics.removalCounts[.countLimit] = countLimit.load(ordering: .relaxed)
        statistics.removalCounts[.costLimit] = costLimit.load(ordering: .relaxed)
        statistics.removalCounts[.memoryPressure] = memoryPressure.load(ordering: .relaxed)
        statistics.removalCounts[.replaced] = replaced.load(ordering: .relaxed)
        statistics.removalCounts[.removed] = removed.load(ordering: .relaxed)
        statistics.removalCounts[.expired] = expired.load(ordering: .relaxed)
        statistics.removalCounts[.discarded] = purged.load(ordering: .relaxed)
    }
}
