//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if MetricsSupport
public import Metrics

/// A cache's statistics as metrics of swift-metrics, every one with the dimension `cache.name`.
///
/// The metric objects are made once, here. Nothing is measured on a hit: counters advance by what the statistics say
/// when ``record(_:)`` is called, before a page is scraped or by ``CacheMaintenance`` every so often.
///
/// |Metric|Kind|Further dimension|
/// |---|---|---|
/// |`cache.requests`|counter|`cache.request.type`: `hit`, `miss`|
/// |`cache.insertions`, `cache.refusals`|counter| |
/// |`cache.removals`|counter|`cache.removal.cause`, a ``RemovalCause``|
/// |`cache.loads`, `cache.load.failures`, `cache.load.coalesced`|counter| |
/// |`cache.fallbacks`|counter| |
/// |`cache.pressure.asked`, `cache.pressure.returned`|counter of bytes| |
/// |`cache.purged`|counter| |
/// |`cache.entries`, `cache.cost`, `cache.volatile`|gauge; the last one in bytes| |
/// |`cache.load.duration`|timer| |
///
/// A backend that allows no dots in names, such as Prometheus, has underscores in their place.
public final class CacheMetrics: Sendable {
    private let metrics: StatisticsMetrics<CacheStatistics>
    private let loadDuration: Metrics.Timer

    /// Makes the metrics of one cache.
    ///
    /// - Parameters:
    ///   - name: the dimension `cache.name`.
    ///   - factory: where the metrics are made; the one of the process by default.
    public init(cache name: String, factory: (any MetricsFactory)? = nil) {
        let factory = factory ?? MetricsSystem.factory
        let counters: [StatisticsMetrics<CacheStatistics>.Row] = [
            ("cache.requests", [("cache.request.type", "hit")], { $0.hits }),
            ("cache.requests", [("cache.request.type", "miss")], { $0.misses }),
            ("cache.insertions", [], { $0.insertions }),
            ("cache.refusals", [], { $0.refusals }),
            ("cache.loads", [], { $0.loads }),
            ("cache.load.failures", [], { $0.loadFailures }),
            ("cache.load.coalesced", [], { $0.coalescedLoads }),
            ("cache.fallbacks", [], { $0.fallbacks }),
            ("cache.pressure.asked", [], { $0.bytesAskedUnderPressure }),
            ("cache.pressure.returned", [], { $0.bytesReturnedUnderPressure }),
            ("cache.purged", [], { $0.purged }),
        ]
        let volatile: StatisticsMetrics<CacheStatistics>.Row = ("cache.volatile", [], { $0.volatileBytes })
        metrics = StatisticsMetrics(
            cache: name,
            factory: factory,
            counters: counters + StatisticsMetrics.departures { $0 },
            gauges: StatisticsMetrics.contents { $0 } + [volatile]
        )
        loadDuration = Metrics.Timer(
            label: "cache.load.duration",
            dimensions: [("cache.name", name)],
            factory: factory
        )
    }

    /// Brings the metrics up to `statistics`, a snapshot of the one cache that they are for.
    public func record(_ statistics: CacheStatistics) { metrics.record(statistics) }

    /// Adds the duration of one load.
    public func recordLoad(_ duration: Duration) {
        loadDuration.recordNanoseconds(duration.saturatedNanoseconds)
    }
}

extension MemoryCacheOptions {
    /// Records the duration of every load in `metrics`, beside what ``loadHandler`` does already.
    public mutating func recordLoads(in metrics: CacheMetrics) {
        let next = loadHandler
        loadHandler = { load in
            next?(load)
            metrics.recordLoad(load.duration)
        }
    }
}
#endif
