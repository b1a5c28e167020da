//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if MetricsSupport
internal import ForkSafety
public import Metrics

/// A cache's statistics as metrics of swift-metrics, every one with the dimension `cache`.
///
/// The metric objects are made once, here. Nothing is measured on a hit: counters advance by what the statistics say
/// when ``record(_:)`` is called, before a page is scraped or by ``CacheMaintenance`` every so often.
///
/// |Metric|Kind|
/// |---|---|
/// |`cache_hits_total`, `cache_misses_total`|counter|
/// |`cache_insertions_total`, `cache_refusals_total`|counter|
/// |`cache_removals_total`, with the dimension `cause`|counter|
/// |`cache_loads_total`, `cache_load_failures_total`, `cache_coalesced_loads_total`|counter|
/// |`cache_pressure_asked_bytes_total`, `cache_pressure_returned_bytes_total`|counter|
/// |`cache_purged_total`|counter|
/// |`cache_entries`, `cache_cost`, `cache_volatile_bytes`|gauge|
/// |`cache_load_duration`|timer|
public final class CacheMetrics: Sendable {
    private let counters: [(counter: Counter, value: @Sendable (CacheStatistics) -> Int)]
    private let gauges: [(gauge: Gauge, value: @Sendable (CacheStatistics) -> Int)]
    private let loadDuration: Metrics.Timer
    /// What each counter has been brought up to.
    private let recorded: ForkSafeMutex<[Int]>

    /// Makes the metrics of one cache.
    ///
    /// - Parameters:
    ///   - name: the dimension `cache`.
    ///   - factory: where the metrics are made; the one of the process by default.
    public init(cache name: String, factory: (any MetricsFactory)? = nil) {
        let factory = factory ?? MetricsSystem.factory
        let dimensions = [("cache", name)]
        let plain: [(String, @Sendable (CacheStatistics) -> Int)] = [
            ("cache_hits_total", { $0.hits }),
            ("cache_misses_total", { $0.misses }),
            ("cache_insertions_total", { $0.insertions }),
            ("cache_refusals_total", { $0.refusals }),
            ("cache_loads_total", { $0.loads }),
            ("cache_load_failures_total", { $0.loadFailures }),
            ("cache_coalesced_loads_total", { $0.coalescedLoads }),
            ("cache_fallbacks_total", { $0.fallbacks }),
            ("cache_pressure_asked_bytes_total", { $0.bytesAskedUnderPressure }),
            ("cache_pressure_returned_bytes_total", { $0.bytesReturnedUnderPressure }),
            ("cache_purged_total", { $0.purged }),
        ]
        counters =
            plain.map { (Counter(label: $0.0, dimensions: dimensions, factory: factory), $0.1) }
            + RemovalCause.allCases.map { cause in
                let dimensions = dimensions + [("cause", "\(cause)")]
                return (
                    Counter(label: "cache_removals_total", dimensions: dimensions, factory: factory),
                    { $0.removals(cause) }
                )
            }
        recorded = ForkSafeMutex(Array(repeating: 0, count: counters.count))
        let held: [(String, @Sendable (CacheStatistics) -> Int)] = [
            ("cache_entries", { $0.count }),
            ("cache_cost", { $0.totalCost }),
            ("cache_volatile_bytes", { $0.volatileBytes }),
        ]
        gauges = held.map { (Gauge(label: $0.0, dimensions: dimensions, factory: factory), $0.1) }
        loadDuration = Metrics.Timer(label: "cache_load_duration", dimensions: dimensions, factory: factory)
    }

    /// Brings the metrics up to `statistics`, a snapshot of the one cache that they are for.
    public func record(_ statistics: CacheStatistics) {
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
