//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if MetricsSupport
import MemoryCaching
public import Metrics

/// A tiered cache's statistics as metrics of swift-metrics, every one with the dimension `cache.name`.
///
/// As with `CacheMetrics`, nothing is measured on a hit: call ``record(_:)`` every so often, such as by
/// `CacheMaintenance`. The metrics that `CacheMetrics` has too have the same dimensions there, because a backend such
/// as Prometheus allows a name one set of dimensions: caches of both kinds share a page.
///
/// |Metric|Kind|Further dimensions|
/// |---|---|---|
/// |`cache.requests`|counter|`cache.request.type`: `hit` of the near cache, `remote_hit`, `miss`|
/// |`cache.fallbacks`: answers that were no longer fresh, or not known to be current|counter| |
/// |`cache.loads`, `cache.load.failures`|counter| |
/// |`cache.lease.waits`|counter| |
/// |`cache.invalidations`, `cache.generations`|counter| |
/// |`cache.remote.failures`, `cache.remote.skips`|counter| |
/// |`cache.fill.refusals`, `cache.fill.unstorable`|counter| |
/// |`cache.undecodable`|counter| |
/// |`cache.removals` of the near cache|counter|`cache.removal.cause`|
/// |`cache.entries`, `cache.cost` of the near cache|gauge| |
/// |`cache.coherent`: 1 while the near cache is connected and serves values, else 0|gauge| |
///
/// Callers that share one lookup count once, other than in the near tier.
public final class TieredCacheMetrics: Sendable {
    private typealias Snapshot = (statistics: TieredCacheStatistics, isCoherent: Bool)
    private let metrics: StatisticsMetrics<Snapshot>

    /// Makes the metrics of one tiered cache.
    ///
    /// - Parameters:
    ///   - name: the dimension `cache.name`.
    ///   - factory: where the metrics are made; the one of the process by default.
    public init(cache name: String, factory: (any MetricsFactory)? = nil) {
        let counters: [StatisticsMetrics<Snapshot>.Row] = [
            ("cache.requests", [("cache.request.type", "hit")], { $0.statistics.nearHits }),
            ("cache.requests", [("cache.request.type", "remote_hit")], { $0.statistics.remoteHits }),
            ("cache.requests", [("cache.request.type", "miss")], { $0.statistics.loads }),
            ("cache.fallbacks", [], { $0.statistics.staleHits }),
            ("cache.loads", [], { $0.statistics.loads }),
            ("cache.load.failures", [], { $0.statistics.loadFailures }),
            ("cache.lease.waits", [], { $0.statistics.leaseWaits }),
            ("cache.invalidations", [], { $0.statistics.invalidations }),
            ("cache.generations", [], { $0.statistics.generations }),
            ("cache.remote.failures", [], { $0.statistics.remoteFailures }),
            ("cache.remote.skips", [], { $0.statistics.remoteSkips }),
            ("cache.fill.refusals", [], { $0.statistics.refusedFills }),
            ("cache.fill.unstorable", [], { $0.statistics.unstorable }),
            ("cache.undecodable", [], { $0.statistics.undecodable }),
        ]
        let coherent: StatisticsMetrics<Snapshot>.Row = ("cache.coherent", [], { $0.isCoherent ? 1 : 0 })
        metrics = StatisticsMetrics(
            cache: name,
            factory: factory ?? MetricsSystem.factory,
            counters: counters + StatisticsMetrics.departures { $0.statistics.near },
            gauges: StatisticsMetrics.contents { $0.statistics.near } + [coherent]
        )
    }

    /// Brings the metrics up to what `cache`, the one that they are for, has done so far.
    public func record<Key, Value>(_ cache: TieredCache<Key, Value>) {
        metrics.record((cache.statistics, cache.isCoherent))
    }
}
#endif
