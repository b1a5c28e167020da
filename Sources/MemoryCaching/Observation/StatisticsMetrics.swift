//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if MetricsSupport
internal import ForkSafety
package import Metrics

/// Metrics that follow the statistics of one cache: made once, and brought up to each snapshot.
package final class StatisticsMetrics<Statistics>: Sendable {
    /// What a metric shows of a snapshot.
    package typealias Value = @Sendable (Statistics) -> Int
    /// A metric's label, the dimensions that it has beside `cache.name`, and what it shows.
    package typealias Row = (label: String, dimensions: [(String, String)], value: Value)

    private let counters: [(counter: Counter, value: Value)]
    private let gauges: [(gauge: Gauge, value: Value)]
    /// What each counter has been brought up to.
    private let recorded: ForkSafeMutex<[Int]>

    /// Makes the metrics of the cache of this name.
    package init(cache name: String, factory: any MetricsFactory, counters: [Row], gauges: [Row]) {
        let cache = [("cache.name", name)]
        self.counters = counters.map {
            (Counter(label: $0.label, dimensions: cache + $0.dimensions, factory: factory), $0.value)
        }
        self.gauges = gauges.map {
            (Gauge(label: $0.label, dimensions: cache + $0.dimensions, factory: factory), $0.value)
        }
        recorded = ForkSafeMutex(Array(repeating: 0, count: counters.count))
    }

    /// Brings the metrics up to `statistics`.
    package func record(_ statistics: Statistics) {
        // Two snapshots may come in the wrong order: a counter never runs backwards, nor counts anything twice.
        let amounts = recorded.withLock { recorded in
            counters.indices.map { index in
                let value = counters[index].value(statistics)
                defer { recorded[index] = max(recorded[index], value) }
                return value - recorded[index]
            }
        }
        for (counter, amount) in zip(counters, amounts) where amount > 0 { counter.counter.increment(by: amount) }
        for (gauge, value) in gauges { gauge.record(value(statistics)) }
    }
}

extension StatisticsMetrics {
    /// Departures by their cause, and what is held, of whatever `statistics` has of one engine.
    package static func departures(_ statistics: @escaping @Sendable (Statistics) -> CacheStatistics) -> [Row] {
        RemovalCause.allCases.map { cause in
            ("cache.removals", [("cache.removal.cause", "\(cause)")], { statistics($0).removals(cause) })
        }
    }

    /// What one engine holds.
    package static func contents(_ statistics: @escaping @Sendable (Statistics) -> CacheStatistics) -> [Row] {
        [
            ("cache.entries", [], { statistics($0).count }),
            ("cache.cost", [], { statistics($0).totalCost }),
        ]
    }
}
#endif
