//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Loading: forced refresh", .timeLimit(.minutes(10)))
struct LoadingForcedTests {
    enum Trouble: Error { case now }

    @Test(
        "A refresh loads though a value is there, which lookups find until the load has ended",
        arguments: CacheKind.allCases
    )
    func refresh(_ kind: CacheKind) async {
        let clock = ManualClock()
        let cache = EitherCache<String>(kind, options: .init(expiresAfter: .seconds(10), clock: clock))
        cache["a"] = 1
        clock.advance(by: .seconds(9))
        let value = await cache.refreshValue(forKey: "a") {
            #expect(cache.peekValue(forKey: "a") == 1)
            return 2
        }
        #expect(value == 2 && cache["a"] == 2)
        // Its lifetime has begun anew.
        clock.advance(by: .seconds(9))
        #expect(cache["a"] == 2)
        #expect(await cache.refreshValue(forKey: "b") { 3 } == 3)
        #expect(cache["b"] == 3)
    }

    @Test(
        "A refresh that fails leaves the old value; a remembered failure keeps nobody from refreshing",
        arguments: CacheKind.allCases
    )
    func failure(_ kind: CacheKind) async throws {
        let cache = EitherCache<String>(kind, options: .init(failureLifetime: .seconds(3600)))
        cache["a"] = 1
        for _ in 0..<2 {
            await #expect(throws: Trouble.now) {
                try await cache.refreshValue(forKey: "a") { () async throws -> Int in throw Trouble.now }
            }
        }
        #expect(cache.statistics.loads == 2)
        #expect(try await cache.value(forKey: "a") { () async throws -> Int in 7 } == 1)
        #expect(try await cache.refreshValue(forKey: "a") { () async throws -> Int in 2 } == 2)
    }

    @Test("Refreshes and misses of one key share one load", arguments: CacheKind.allCases, [false, true])
    func shared(_ kind: CacheKind, beginsWithMiss: Bool) async {
        let cache = EitherCache<String>(kind)
        let (gate, calls) = (Gate(), Counter())
        let load: @Sendable () async -> Int = {
            await gate.pass()
            return calls.increment()
        }
        let tasks = [beginsWithMiss, !beginsWithMiss, true, false].enumerated().map { number, isMiss in
            Task {
                await yieldUntil { cache.waiterCount(forKey: "a") >= number }
                return isMiss
                    ? await cache.value(forKey: "a", load: load) : await cache.refreshValue(forKey: "a", load: load)
            }
        }
        await yieldUntil { cache.waiterCount(forKey: "a") == 4 }
        gate.open()
        for task in tasks { #expect(await task.value == 1) }
        #expect(calls.value == 1 && cache["a"] == 1)
    }

    @Test("A change during a refresh wins", arguments: CacheKind.allCases, 0..<3)
    func changeWins(_ kind: CacheKind, _ way: Int) async {
        let cache = EitherCache<String>(kind)
        cache["a"] = 1
        let value = await cache.refreshValue(forKey: "a") {
            switch way {
            case 0: cache["a"] = 5
            case 1: cache.removeValue(forKey: "a")
            default: cache.removeAll { _ in true }
            }
            return 2
        }
        #expect(value == 2)
        #expect(cache["a"] == (way == 0 ? 5 : nil))
    }

    @Test("A change during a load wins; a refresh that shares the load gets its value", arguments: CacheKind.allCases)
    func changeWinsOverSharedLoad(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let gate = Gate()
        let load: @Sendable () async -> Int = {
            await gate.pass()
            return 1
        }
        let miss = Task { await cache.value(forKey: "a", load: load) }
        await yieldUntil { cache.waiterCount(forKey: "a") == 1 }
        let refresh = Task { await cache.refreshValue(forKey: "a") { 2 } }
        await yieldUntil { cache.waiterCount(forKey: "a") == 2 }
        cache["a"] = 7
        gate.open()
        #expect(await miss.value == 1)
        #expect(await refresh.value == 1)
        #expect(cache["a"] == 7)
    }

    @Test("A flight that ends without a load, because the value has turned up, is no answer to a refresh")
    func unloaded() async {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        // As a miss that has found the value between its boarding and its load.
        let makeRun = { LoadRun(priority: .medium) }
        let terms = WaiterTerms(Never.self, takesFallback: false)
        let boarding = cache.loading.flights.board("a", terms, throwing: Never.self, makeRun: makeRun)
        guard case .leads(let flight, _) = boarding else {
            Issue.record("somebody else is loading")
            return
        }
        let refresh = Task { await cache.refreshValue(forKey: "a") { 2 } }
        await yieldUntil { flight.suspendedCount == 1 }
        cache.loading.flights.landUnloaded(flight, .present(1))
        #expect(await refresh.value == 2)
        #expect(cache["a"] == 2)
    }

    @Test("What was stored first is what the callers of a load get, and a refresh loads again", arguments: [0, 1])
    func afterGetOrSet(_ kind: Int) async throws {
        let cache = LoadingFamilyTests.faces[kind].init(.init())
        let gate = Gate()
        let miss = Task {
            try await cache.get("a") {
                await gate.pass()
                return [1]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 }
        let bulk = Task { try await cache.get(["a", "b"]) { _ in ["b": [4]] } }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 2 }
        #expect(cache.make("a") { [2] } == [2])
        let refresh = Task { try await cache.refresh("a") { [3] } }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 3 }
        gate.open()
        #expect(try await miss.value == [2])
        #expect(try await bulk.value == ["a": [2], "b": [4]])
        #expect(try await refresh.value == [3])
        #expect(cache.get("a") == [3])
    }

    @Test("A cancelled refresh leaves at once, and its load's result stays out", arguments: CacheKind.allCases)
    func cancellation(_ kind: CacheKind) async throws {
        let cache = EitherCache<String>(kind)
        cache["a"] = 1
        let gate = Gate()
        let task = Task {
            try await cache.refreshValue(forKey: "a") { () async throws -> Int in
                await gate.pass()
                return 2
            }
        }
        await yieldUntil { cache.waiterCount(forKey: "a") == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        await yieldUntil { cache.flightCount == 0 }
        #expect(cache["a"] == 1)
    }
}
