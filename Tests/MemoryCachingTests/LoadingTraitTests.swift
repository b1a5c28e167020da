//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if MetricsSupport || LoggingSupport || TracingSupport || ServiceLifecycleSupport
import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import MemoryCaching

#if MetricsSupport
import Metrics
import MetricsTestKit
#endif
#if LoggingSupport
import InMemoryLogging
import Logging
#endif
#if ServiceLifecycleSupport
import ServiceLifecycle
import ServiceLifecycleTestKit
#endif

@Suite("Traits", .timeLimit(.minutes(10)))
struct LoadingTraitTests {
    enum Trouble: Error { case first }

    #if MetricsSupport
    @Test("Metrics are made once, advance by what happened, and carry the cache's name")
    func metrics() async throws {
        let factory = TestMetrics()
        let metrics = CacheMetrics(cache: "images", factory: factory)
        let made = factory.counters.count
        let clock = ManualClock()
        var options = MemoryCacheOptions<Int, Int>(clock: clock)
        options.recordLoads(in: metrics)
        let cache = MemoryCache<Int, Int>(name: "images", options: options) { _, _ in 8 }
        for key in [1, 2, 1] {
            _ = await cache.value(forKey: key) { () async -> Int in
                clock.advance(by: .milliseconds(3))
                return key
            }
        }
        metrics.record(cache.statistics)
        let answered = [("cache.name", "images"), ("cache.request.type", "hit")]
        let hits = try factory.expectCounter("cache.requests", answered)
        #expect(hits.values == [1])
        _ = cache[1]
        cache.removeValue(forKey: 2)
        metrics.record(cache.statistics)
        #expect(hits.values == [1, 1])
        #expect(try factory.expectCounter("cache.loads", [("cache.name", "images")]).totalValue == 2)
        let removed = [("cache.name", "images"), ("cache.removal.cause", "removed")]
        #expect(try factory.expectCounter("cache.removals", removed).totalValue == 1)
        #expect(try factory.expectGauge("cache.entries", [("cache.name", "images")]).lastValue == 1)
        #expect(try factory.expectGauge("cache.cost", [("cache.name", "images")]).lastValue == 8)
        let timer = try factory.expectTimer("cache.load.duration", [("cache.name", "images")])
        #expect(timer.values == [3_000_000, 3_000_000])
        #expect(factory.counters.count == made)
    }

    @Test("A snapshot that comes late never turns a counter back")
    func lateSnapshot() throws {
        let factory = TestMetrics()
        let metrics = CacheMetrics(cache: "images", factory: factory)
        var later = CacheStatistics()
        later.hits = 10
        metrics.record(later)
        metrics.record(CacheStatistics())
        metrics.record(later)
        let answered = [("cache.name", "images"), ("cache.request.type", "hit")]
        #expect(try factory.expectCounter("cache.requests", answered).totalValue == 10)
    }
    #endif

    #if LoggingSupport
    @Test("Loads are logged at debug, failures at info, keys at trace only", arguments: [Logger.Level.debug, .trace])
    func logging(level: Logger.Level) async {
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test", factory: { _ in handler })
        logger.logLevel = level
        var options = MemoryCacheOptions<String, Int>()
        options.logLoads(to: logger, cache: "images")
        let cache = MemoryCache<String, Int>(options: options)
        _ = await cache.value(forKey: "secret") { 1 }
        _ = try? await cache.value(forKey: "other") { () async throws -> Int in throw Trouble.first }
        let entries = handler.entries
        #expect(entries.map(\.level) == [.debug, .info])
        #expect(entries.map { "\($0.message)" } == ["loaded", "load failed"])
        #expect(entries.allSatisfy { $0.metadata["cache"] == "images" })
        #expect(entries[0].metadata["key"] == (level == .trace ? "secret" : nil))
        #expect(entries[1].metadata["error"] == "first")
    }
    #endif

    #if ServiceLifecycleSupport
    @Test("Maintenance ends without an error when its service group shuts down")
    func service() async {
        let clock = ManualClock()
        let maintenance = CacheMaintenance(every: .seconds(10), clock: clock)
        await testGracefulShutdown { trigger in
            async let service: Void = maintenance.run()
            await yieldUntil { clock.sleeperCount == 1 }
            trigger.triggerGracefulShutdown()
            await service
        }
        let service: any Service = maintenance
        _ = service
    }
    #endif
}
#endif
