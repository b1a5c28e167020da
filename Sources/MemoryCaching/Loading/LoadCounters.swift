//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// What loading adds to the statistics. Loads are rare beside hits, so that plain atomics serve.
final class LoadCounters: Sendable {
    let started = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let coalesced = Atomic<Int>(0)
    let fallbacks = Atomic<Int>(0)
    let nanoseconds = Atomic<Int64>(0)

    /// Adds the time of a load, up to the longest time there is: the clock may be the user's and jump.
    func addTime(_ elapsed: Int64) {
        var before = nanoseconds.load(ordering: .relaxed)
        while true {
            let (sum, overflow) = before.addingReportingOverflow(elapsed)
            let (isDone, now) = nanoseconds.weakCompareExchange(
                expected: before,
                desired: overflow ? .max : sum,
                ordering: .relaxed
            )
            if isDone { return }
            before = now
        }
    }

    /// Adds what has been counted.
    func add(to statistics: inout CacheStatistics) {
        statistics.loads += started.load(ordering: .relaxed)
        statistics.loadFailures += failed.load(ordering: .relaxed)
        statistics.fallbacks += fallbacks.load(ordering: .relaxed)
        statistics.coalescedLoads += coalesced.load(ordering: .relaxed)
        statistics.totalLoadTime += .nanoseconds(nanoseconds.load(ordering: .relaxed))
    }
}
