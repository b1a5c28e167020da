//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// Where a run is with its burst: the memory that the process takes at once for its own work.
enum Burst: String, Codable {
    case ahead
    /// Announced, by those of ours, and being taken.
    case coming
    /// Written, every byte of it.
    case held
    case over
    /// Not taken, because less was free when it had been announced.
    case refused
}

/// What a run looks like at one moment: counters since its start, and amounts as they are. The child tells them.
struct Sample: Codable, Sendable, Equatable {
    /// Seconds since the run's start.
    var time = 0.0
    var requests = 0
    var hits = 0
    var failures = 0
    /// Values whose bytes were not those that the origin made.
    var wrong = 0
    /// Bytes of the cache's values that are in memory.
    var cachedBytes = 0
    /// Bytes that the kernel may take back without asking, by the kernel's own count.
    var purgeableBytes = 0
    /// Private resident memory of the run's process, in bytes.
    var residentBytes = 0
    var level = "normal"
    var burst = Burst.ahead
    /// Entries that have left the cache.
    var evictions = 0
    /// Nanoseconds of the median hit, 0 while there was none.
    var hitNanoseconds = 0
    /// Bytes charged to the run's cgroup; filled in by the parent.
    var groupBytes: Int?

    /// The memory that the run has taken.
    var usedBytes: Int { groupBytes ?? residentBytes }

    /// Share of hits among the requests since `earlier`, or since the start; nil where there were none.
    func hitRate(since earlier: Sample = Sample()) -> Double? {
        requests == earlier.requests ? nil : Double(hits - earlier.hits) / Double(requests - earlier.requests)
    }
}

/// Durations in buckets that grow by an eighth of a power of two: medians to within 9 %, in 4 KB.
struct LatencyHistogram: Sendable {
    private var buckets = [Int](repeating: 0, count: 64 * 8)
    private var total = 0

    mutating func record(_ time: Duration) {
        buckets[Int(log2(max(1, time / .nanoseconds(1))) * 8)] += 1
        total += 1
    }

    /// Nanoseconds that half of the durations stay below; 0 where there are none.
    var median: Int {
        var seen = 0
        for (index, count) in buckets.enumerated() where count > 0 {
            seen += count
            if seen * 2 >= total { return Int(exp2((Double(index) + 0.5) / 8)) }
        }
        return 0
    }
}
