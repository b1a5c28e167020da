//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What a run's workers count. One lock: a request costs microseconds, its count some tens of nanoseconds.
final class Meter: Sendable {
    private struct Counts {
        var sample = Sample()
        var hitTimes = LatencyHistogram()
        var downloadTimes = LatencyHistogram()
    }

    private let counts = Mutex(Counts())

    /// One request was served from `source`, in `time`, with the right bytes or not.
    func record(_ source: Source, time: Duration, right: Bool) {
        counts.withLock { counts in
            counts.sample.requests += 1
            if !right { counts.sample.wrong += 1 }
            switch source {
            case .cache:
                counts.sample.hits += 1
                counts.hitTimes.record(time)
            case .origin:
                counts.sample.downloads += 1
                counts.downloadTimes.record(time)
            case .joined:
                counts.sample.joined += 1
            }
        }
    }

    /// One request could not be served.
    func recordFailure() {
        counts.withLock {
            $0.sample.requests += 1
            $0.sample.failures += 1
        }
    }

    /// The counts so far.
    var sample: Sample {
        counts.withLock { counts in
            var sample = counts.sample
            sample.hitNanoseconds = counts.hitTimes.median
            sample.downloadNanoseconds = counts.downloadTimes.median
            return sample
        }
    }
}

/// Durations in buckets that grow by an eighth of a power of two: medians to within 9 %, in 2 KB.
struct LatencyHistogram: Sendable {
    private var buckets = [Int](repeating: 0, count: 64 * 8)
    private var total = 0

    mutating func record(_ time: Duration) {
        buckets[Self.bucket(of: max(1, Int(time / .nanoseconds(1))))] += 1
        total += 1
    }

    /// Nanoseconds that half of the durations stay below; 0 where there are none.
    var median: Int {
        var seen = 0
        for (index, count) in buckets.enumerated() where count > 0 {
            seen += count
            if seen * 2 >= total { return Self.lowerBound(of: index) }
        }
        return 0
    }

    private static func bucket(of nanoseconds: Int) -> Int {
        let exponent = Int.bitWidth - 1 - nanoseconds.leadingZeroBitCount
        let eighth = exponent >= 3 ? (nanoseconds >> (exponent - 3)) & 7 : (nanoseconds << (3 - exponent)) & 7
        return exponent * 8 + eighth
    }

    private static func lowerBound(of bucket: Int) -> Int {
        let (exponent, eighth) = (bucket / 8, bucket % 8)
        return exponent >= 3 ? (8 + eighth) << (exponent - 3) : (8 + eighth) >> (3 - exponent)
    }
}
