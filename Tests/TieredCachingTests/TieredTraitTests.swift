//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if MetricsSupport || TracingSupport
import MemoryCaching
import Testing
import _CacheTestSupport

@testable import TieredCaching

#if MetricsSupport
import Metrics
import MetricsTestKit
#endif
#if TracingSupport
import InMemoryTracing
import Tracing
#endif

@Suite("Metrics and spans by tier", .timeLimit(.minutes(10)))
struct TieredTraitTests {
    typealias Cache = TieredCache<Int, String>
    enum Trouble: Error { case first }

    let server = InProcessServer()

    /// Patient, so that a busy machine does not take part in the tests.
    func makeCache(_ tier: InProcessTier) async -> Cache {
        var options = TieredCacheOptions()
        options.softTimeout = .seconds(60)
        options.changeTimeout = .seconds(60)
        let cache = Cache(name: "users", remote: tier, codec: .string, options: options)
        await yieldUntil { cache.isCoherent }
        return cache
    }

    #if MetricsSupport
    @Test("Requests are counted by who answered them, and the near cache shows whether it serves")
    func metrics() async throws {
        let factory = TestMetrics()
        let (tier, otherTier) = (server.makeTier(), server.makeTier())
        let (here, there) = (await makeCache(tier), await makeCache(otherTier))
        let metrics = TieredCacheMetrics(cache: "users", factory: factory)
        func total(_ label: String, _ dimensions: (String, String)...) throws -> Int64 {
            try factory.expectCounter(label, [("cache.name", "users")] + dimensions).totalValue
        }
        _ = try await here.value(forKey: 1) { "one" }
        for _ in 0..<3 { _ = try await there.value(forKey: 1) { "not asked" } }
        _ = try? await there.value(forKey: 2) { throw Trouble.first }
        try await here.removeValue(forKey: 1)
        metrics.record(there)
        #expect(try total("cache.requests", ("cache.request.type", "hit")) == 2)
        #expect(try total("cache.requests", ("cache.request.type", "remote_hit")) == 1)
        #expect(try total("cache.requests", ("cache.request.type", "miss")) == 1)
        #expect(try total("cache.load.failures") == 1)
        #expect(try total("cache.invalidations") == 1)
        #expect(try total("cache.removals", ("cache.removal.cause", "removed")) == 1)
        #expect(try factory.expectGauge("cache.entries", [("cache.name", "users")]).lastValue == 0)
        let coherent = try factory.expectGauge("cache.coherent", [("cache.name", "users")])
        #expect(coherent.lastValue == 1)
        otherTier.disconnect()
        metrics.record(there)
        #expect(coherent.lastValue == 0)
        #expect(try total("cache.requests", ("cache.request.type", "hit")) == 2)
    }

    @Test("A name of a metric has one set of dimensions in all kinds of caches, because Prometheus demands it")
    func dimensions() {
        let factory = TestMetrics()
        let metrics = (
            CacheMetrics(cache: "images", factory: factory), TieredCacheMetrics(cache: "users", factory: factory)
        )
        let made = withExtendedLifetime(metrics) {
            factory.counters.map { ($0.label, $0.dimensions) } + factory.recorders.map { ($0.label, $0.dimensions) }
                + factory.timers.map { ($0.label, $0.dimensions) }
        }
        let sets = Dictionary(grouping: made, by: \.0).mapValues { Set($0.map { $0.1.map(\.0) }) }
        #expect(sets.keys.contains("cache.requests") && sets.keys.contains("cache.coherent"))
        for (label, sets) in sets { #expect(sets.count == 1, "\(label): \(sets)") }
    }
    #endif

    #if TracingSupport
    @Test("A miss that callers share: a load with a step for each tier, and a linked wait for each other caller")
    func spansOfAMiss() async throws {
        let tracer = InMemoryTracer()
        let cache = await makeCache(server.makeTier())
        let gate = Gate()
        await withTracer(tracer) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        await withSpan("request") { _ in
                            let value = try? await cache.value(forKey: 1) {
                                await withSpan("query") { _ in await gate.pass() }
                                return "one"
                            }
                            #expect(value == "one")
                        }
                    }
                }
                await yieldUntil { cache.link.withMachine { $0.flight(of: "1")?.waiterCount } == 10 }
                gate.open()
            }
            await yieldUntil { tracer.activeSpans.isEmpty }
            // A hit has none.
            _ = try? await cache.value(forKey: 1) { "not asked" }
        }
        let load = try #require(tracer.named("cache.load").first)
        let waits = tracer.named("cache.wait")
        #expect(tracer.named("cache.load").count == 1 && waits.count == 9)
        #expect(waits.allSatisfy { $0.links.map { $0.context.inMemorySpanContext?.spanID } == [load.spanID] })
        #expect(tracer.named("request").map(\.spanID).contains(load.parentSpanID ?? ""))
        for step in ["cache.remote.read", "cache.remote.acquire", "cache.origin", "cache.remote.fill"] {
            #expect(tracer.named(step).map(\.parentSpanID) == [load.spanID], "\(step)")
            #expect(tracer.named(step).first?.attributes.get("cache.name") == .string("users"))
        }
        #expect(tracer.named("query").map(\.parentSpanID) == tracer.named("cache.origin").map(\.spanID))
    }

    @Test("What fails is the origin's, the load's and each waiter's; changes are steps of their caller")
    func spansOfAFailureAndAChange() async throws {
        let tracer = InMemoryTracer()
        let cache = await makeCache(server.makeTier())
        try await withTracer(tracer) {
            await #expect(throws: Trouble.first) { try await cache.value(forKey: 1) { throw Trouble.first } }
            try await withSpan("request") { _ in
                try await cache.setValue("one", forKey: 1)
                try await cache.removeValue(forKey: 1)
                try await cache.removeAll()
            }
            await yieldUntil { tracer.activeSpans.isEmpty }
        }
        for name in ["cache.origin", "cache.load"] {
            let span = try #require(tracer.named(name).first)
            #expect(span.errors.count == 1 && span.errors.first?.error is Trouble, "\(name)")
            #expect(span.status?.code == .error, "\(name)")
        }
        let request = try #require(tracer.named("request").first)
        for name in ["cache.remote.write", "cache.remote.remove", "cache.remote.clear"] {
            #expect(tracer.named(name).map(\.parentSpanID) == [request.spanID], "\(name)")
        }
    }
    #endif
}

#if TracingSupport
extension InMemoryTracer {
    fileprivate func named(_ name: String) -> [FinishedInMemorySpan] {
        finishedSpans.filter { $0.operationName == name }
    }
}
#endif
#endif
