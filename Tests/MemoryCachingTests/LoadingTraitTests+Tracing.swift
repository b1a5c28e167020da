//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if TracingSupport
import InMemoryTracing
import MemoryCachingTestKit
import Testing
import Tracing
import _CacheTestSupport

@testable import MemoryCaching

extension InMemoryTracer {
    fileprivate func finished(_ name: String) -> [FinishedInMemorySpan] {
        finishedSpans.filter { $0.operationName == name }
    }
    fileprivate var loads: [FinishedInMemorySpan] { finished("cache.load") }
    fileprivate var waits: [FinishedInMemorySpan] { finished("cache.wait") }
}

extension FinishedInMemorySpan {
    fileprivate var linked: [String?] { links.map { $0.context.inMemorySpanContext?.spanID } }
    fileprivate func attribute(_ name: String) -> SpanAttribute? { attributes.get(name) }

    /// Whether the span says that it failed with an error of this type, and says so once.
    fileprivate func failed<E: Error>(with type: E.Type) -> Bool {
        errors.count == 1 && errors[0].error is E && status?.code == .error
            && attribute("error.type") == .string("\(type)")
    }
}

extension LoadingTraitTests {
    @Test("A hundred callers: one span of the load, 99 of waits linked to it", arguments: CacheKind.allCases)
    func oneSpanOfASharedLoad(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let cache = EitherCache<String>(kind, name: "images")
        let gate = Gate()
        await withTracer(tracer) {
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        await withSpan("request") { _ in
                            await cache.value(forKey: "a") { () async -> Int in
                                await withSpan("query") { _ in await gate.pass() }
                                return 7
                            }
                        }
                    }
                }
                await yieldUntil { cache.waiterCount(forKey: "a") == 100 }
                gate.open()
            }
        }
        let load = try #require(tracer.loads.first)
        let requests = Dictionary(uniqueKeysWithValues: tracer.finished("request").map { ($0.spanID, $0) })
        #expect(tracer.loads.count == 1)
        #expect(tracer.waits.count == 99)
        #expect(tracer.waits.allSatisfy { $0.linked == [load.spanID] && $0.status == nil && $0.errors.isEmpty })
        // Each in the trace of its own caller, the load in that of the caller that started it.
        let parents = (tracer.waits + [load]).compactMap(\.parentSpanID)
        #expect(Set(parents) == Set(requests.keys))
        #expect((tracer.waits + [load]).allSatisfy { $0.traceID == requests[$0.parentSpanID ?? ""]?.traceID })
        #expect(tracer.finished("query").map(\.parentSpanID) == [load.spanID])
        #expect(load.status == nil && load.links.isEmpty && load.kind == .internal)
        #expect(load.attribute("cache.name") == .string("images"))
        #expect(load.attribute("cache.load.reason") == .string("miss"))
        #expect(load.attribute("cache.load.key_count") == .int64(1))
        #expect(load.attribute("cache.load.value_count") == .int64(1))
        #expect(tracer.waits.allSatisfy { $0.attribute("cache.name") == .string("images") })
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test("A hit has no span", arguments: CacheKind.allCases)
    func noSpanOfAHit(_ kind: CacheKind) async {
        let tracer = InMemoryTracer()
        let cache = EitherCache<String>(kind, options: .init(expiresAfter: .seconds(60), staleWindow: .seconds(1)))
        for cache in [cache, EitherCache<String>(kind)] {
            cache["a"] = 1
            await withTracer(tracer) {
                let one = await cache.value(forKey: "a") { () async -> Int in 2 }
                let many = await cache.values(forKeys: ["a"]) { (_) async -> [String: Int] in [:] }
                #expect(one == 1 && many == ["a": 1] && cache["a"] == 1)
            }
        }
        #expect(tracer.finishedSpans.isEmpty && tracer.activeSpans.isEmpty)
    }

    @Test("A failure is the load's and each waiter's", arguments: CacheKind.allCases)
    func spanOfAFailure(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let cache = EitherCache<String>(kind)
        let gate = Gate()
        await withTracer(tracer) {
            let callers = (0..<2).map { _ in
                Task {
                    try await cache.value(forKey: "a") { () async throws -> Int in
                        await gate.pass()
                        throw Trouble.first
                    }
                }
            }
            await yieldUntil { cache.waiterCount(forKey: "a") == 2 }
            gate.open()
            for caller in callers { await #expect(throws: Trouble.first) { try await caller.value } }
        }
        #expect(tracer.loads.count == 1 && tracer.waits.count == 1)
        #expect((tracer.loads + tracer.waits).allSatisfy { $0.failed(with: Trouble.self) })
        #expect(tracer.waits.first?.linked == [tracer.loads.first?.spanID])
        #expect(tracer.loads.first?.attribute("cache.load.value_count") == nil)
    }

    @Test(
        "Who leaves ends its own span; when the last has left, the load ends as cancelled",
        arguments: CacheKind.allCases
    )
    func spanOfACancellation(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let cache = EitherCache<String>(kind)
        await withTracer(tracer) {
            var callers: [Task<Int, any Error>] = []
            for count in 1...2 {
                callers.append(
                    Task {
                        try await cache.value(forKey: "a") { () async throws -> Int in
                            while true {
                                try Task.checkCancellation()
                                await Task.yield()
                            }
                        }
                    }
                )
                await yieldUntil { cache.waiterCount(forKey: "a") == count }
            }
            callers[1].cancel()
            await #expect(throws: CancellationError.self) { try await callers[1].value }
            #expect(tracer.waits.count == 1 && tracer.loads.isEmpty)
            callers[0].cancel()
            await #expect(throws: CancellationError.self) { try await callers[0].value }
            await yieldUntil { !tracer.loads.isEmpty }
        }
        #expect(tracer.waits.count == 1 && tracer.loads.count == 1)
        #expect((tracer.loads + tracer.waits).allSatisfy { $0.failed(with: CancellationError.self) })
        #expect(tracer.waits.first?.linked == [tracer.loads.first?.spanID])
    }

    @Test("A refresh in the background is a trace of its own, linked to the request", arguments: CacheKind.allCases)
    func spanOfARefresh(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let clock = ManualClock()
        let cache = EitherCache<String>(
            kind,
            options: .init(expiresAfter: .seconds(60), staleWindow: .seconds(10), clock: clock)
        )
        let gate = Gate()
        cache["a"] = 1
        clock.advance(by: .seconds(55))
        await withTracer(tracer) {
            await withSpan("request") { _ in
                let value = await cache.value(forKey: "a") { () async -> Int in
                    await gate.pass()
                    withSpan("query") { _ in }
                    return 2
                }
                #expect(value == 1)
            }
            gate.open()
            await yieldUntil { cache.flightCount == 0 }
            // And one that a caller waits for, which is part of its request.
            await withSpan("request") { _ in _ = await cache.refreshValue(forKey: "a") { 3 } }
        }
        let loads = tracer.loads
        let requests = tracer.finished("request")
        try #require(loads.count == 2 && requests.count == 2)
        #expect(loads[0].parentSpanID == nil && loads[0].traceID != requests[0].traceID)
        #expect(loads[0].linked == [requests[0].spanID])
        #expect(tracer.finished("query").map(\.parentSpanID) == [loads[0].spanID])
        #expect(loads[1].parentSpanID == requests[1].spanID && loads[1].links.isEmpty)
        #expect(loads.allSatisfy { $0.attribute("cache.load.reason") == .string("refresh") })
        #expect(tracer.waits.isEmpty)
    }

    @Test("A bulk load has one span, and who shares it is linked to it once", arguments: CacheKind.allCases)
    func spanOfABulkLoad(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let cache = EitherCache<Int>(kind)
        let gate = Gate()
        let load: @Sendable ([Int]) async -> [Int: Int] = { keys in
            await gate.pass()
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, $0) })
        }
        await withTracer(tracer) {
            async let first = cache.values(forKeys: [1, 2, 3], load: load)
            await yieldUntil { cache.waiterCount(forKey: 3) == 1 }
            async let second = cache.values(forKeys: [2, 3, 4], load: load)
            async let third = cache.value(forKey: 1) { 0 }
            await yieldUntil { cache.waiterCount(forKey: 4) == 1 && cache.waiterCount(forKey: 1) == 2 }
            gate.open()
            let values = await (first, second, third)
            #expect(values.0 == [1: 1, 2: 2, 3: 3])
            #expect(values.1 == [2: 2, 3: 3, 4: 4])
            #expect(values.2 == 1)
        }
        let keyCounts = tracer.loads.map { $0.attribute("cache.load.key_count") }
        #expect(tracer.loads.count == 2 && keyCounts.contains(.int64(3)) && keyCounts.contains(.int64(1)))
        #expect(tracer.loads.allSatisfy { $0.attribute("cache.load.reason") == .string("bulk") })
        let shared = try #require(tracer.loads.first { $0.attribute("cache.load.key_count") == .int64(3) })
        #expect(shared.attribute("cache.load.value_count") == .int64(3))
        #expect(tracer.waits.count == 2)
        #expect(tracer.waits.allSatisfy { $0.linked == [shared.spanID] })
        #expect(Set(tracer.waits.map { "\($0.attribute("cache.load.key_count")!)" }).count == 2)
    }

    @Test("A load that times out ends its span once, and then", arguments: CacheKind.allCases)
    func spanOfATimeout(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let clock = ManualClock()
        let cache = EitherCache<String>(kind, options: .init(loadTimeout: .seconds(5), clock: clock))
        let gate = Gate()
        await withTracer(tracer) {
            let caller = Task {
                try await cache.value(forKey: "secret") { () async throws -> Int in
                    await gate.pass()
                    return 7
                }
            }
            await yieldUntil { clock.sleeperCount == 1 && cache.waiterCount(forKey: "secret") == 1 }
            clock.advance(by: .seconds(5))
            await #expect(throws: CacheLoadTimeoutError.self) { try await caller.value }
            #expect(tracer.loads.count == 1)
            gate.open()
            await yieldUntil { cache.flightCount == 0 }
        }
        #expect(tracer.loads.count == 1)
        #expect(tracer.loads.allSatisfy { $0.failed(with: CacheLoadTimeoutError.self) })
        #expect(!Self.text(of: tracer).contains("secret"))
    }

    @Test("No span names a key, nor does the error of a load that asks for itself", arguments: CacheKind.allCases)
    func noKeyInSpans(_ kind: CacheKind) async throws {
        let tracer = InMemoryTracer()
        let cache = EitherCache<String>(kind, name: "images")
        await withTracer(tracer) {
            await #expect(throws: CacheLoadingError.self) {
                try await cache.value(forKey: "secret") { () async throws -> Int in
                    try await cache.value(forKey: "secret") { () async throws -> Int in 1 }
                }
            }
            _ = await cache.value(forKey: "another secret") { 1 }
        }
        #expect(tracer.loads.count == 2 && tracer.waits.count == 1)
        #expect((tracer.loads + tracer.waits).count { $0.failed(with: CacheLoadingError.self) } == 2)
        #expect(Self.text(of: tracer).contains("images"))
        #expect(!Self.text(of: tracer).contains("secret"))
    }

    @Test("A face over another cache has the spans of that")
    func spanOfACodedCache() async throws {
        let tracer = InMemoryTracer()
        let cache = CodedCache<String, String>(name: "pages", codec: .string)
        try await withTracer(tracer) {
            for _ in 0..<2 {
                let value = try await cache.value(forKey: "a") { () async -> String in "b" }
                #expect(value == "b")
            }
        }
        #expect(tracer.finishedSpans.map(\.operationName) == ["cache.load"])
        #expect(tracer.loads.first?.attribute("cache.name") == .string("pages"))
    }

    @Test("Without a tracer nothing is made")
    func noTracer() async throws {
        func name() -> String {
            Issue.record("looked up")
            return ""
        }
        let load = LoadSpan.ofLoad(name: name(), reason: name(), keyCount: 1, isBackground: true)
        let wait = LoadSpan.ofWait(name: name(), keyCount: 1)
        #expect(load == nil && wait == nil)
        let cache = MemoryCache<Int, Bool>()
        let hasNoContext = await cache.value(forKey: 1) { () async -> Bool in InstrumentationContext.current == nil }
        #expect(hasNoContext)
    }

    /// All that the tracer was told.
    private static func text(of tracer: InMemoryTracer) -> String {
        var text = ""
        dump(tracer.finishedSpans, to: &text)
        return text
    }
}
#endif
