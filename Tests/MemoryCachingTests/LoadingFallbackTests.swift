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

@Suite("Loading: fallbacks and timeouts, the same of both caches", .timeLimit(.minutes(10)))
struct LoadingFallbackTests {
    enum Trouble: Error { case now }

    typealias Options = MemoryCacheOptions<String, [UInt8]>
    typealias Cache = any LoadingFace<String>

    let clock = ManualClock()

    /// A cache whose entries live for 10 s, with an entry "a" that expired a second ago.
    func expired(_ kind: Int, _ change: (inout Options) -> Void = { _ in }) -> Cache {
        var options = Options(expiresAfter: .seconds(10), keepsExpiredFor: .seconds(60), clock: clock)
        change(&options)
        let cache = LoadingFamilyTests.faces[kind].init(options)
        cache.set("a", [1], nil)
        clock.advance(by: .seconds(11))
        return cache
    }

    /// Waits until no load is under way.
    func settle(_ cache: Cache) async {
        await yieldUntil { cache.loading.flights.count.load(ordering: .relaxed) == 0 }
    }

    @Test("An expired value is not found, and answers when its load fails", arguments: [0, 1])
    func failure(_ kind: Int) async throws {
        let cache = expired(kind)
        #expect(cache.get("a") == nil && cache.peek("a") == nil && cache.hottestKeys(.max).isEmpty)
        #expect(cache.count == 1)
        for _ in 0..<3 { #expect(try await cache.get("a") { throw Trouble.now } == [1]) }
        #expect(cache.statistics.fallbacks == 3 && cache.statistics.loadFailures == 3)
        #expect(cache.get("a") == nil, "a fallback is no hit")
        // What is loaded takes its place.
        #expect(try await cache.get("a") { [2] } == [2])
        #expect(cache.get("a") == [2])
        #expect(cache.statistics.removalCounts[.expired] == 1 && cache.count == 1)
    }

    @Test("It is kept for as long as the options say, and no longer", arguments: [0, 1])
    func keeping(_ kind: Int) async throws {
        let told = Mutex<[RemovalCause]>([])
        let cache = expired(kind) { $0.removalHandler = { _, _, cause in told.withLock { $0.append(cause) } } }
        clock.advance(by: .seconds(58))
        #expect(try await cache.get("a") { throw Trouble.now } == [1])
        #expect(told.withLock { $0 } == [])
        clock.advance(by: .seconds(1))
        await #expect(throws: Trouble.now) { try await cache.get("a") { throw Trouble.now } }
        #expect(cache.count == 0)
        #expect(told.withLock { $0 } == [.expired])
    }

    @Test("A cache that keeps nothing falls back to nothing", arguments: [0, 1])
    func nothingKept(_ kind: Int) async {
        for keeping in [nil, Duration.zero, .seconds(-5)] {
            let cache = expired(kind) {
                $0.keepsExpiredFor = keeping
                $0.softLoadTimeout = .zero
            }
            await #expect(throws: Trouble.now) { try await cache.get("a") { throw Trouble.now } }
            #expect(cache.count == 0 && cache.statistics.fallbacks == 0)
        }
    }

    @Test("Entries that nobody used are kept likewise, and durations without end are none", arguments: [0, 1])
    func idleAndEndless(_ kind: Int) async throws {
        let cache = expired(kind) {
            $0.expiresAfter = nil
            $0.expiresAfterAccess = .seconds(10)
            $0.keepsExpiredFor = .seconds(Int64.max)
            $0.softLoadTimeout = .seconds(Int64.max)
            $0.loadTimeout = .seconds(Int64.max)
        }
        #expect(cache.get("a") == nil)
        clock.advance(by: .seconds(1_000_000))
        #expect(try await cache.get("a") { throw Trouble.now } == [1])
        cache.set("a", [2], nil)
        #expect(cache.get("a") == [2])
    }

    @Test("A change ends a fallback", arguments: [0, 1], 0..<6)
    func changes(_ kind: Int, _ way: Int) async throws {
        let cache = expired(kind)
        let load: @Sendable () async throws -> [UInt8] = {
            switch way {
            case 0: cache.remove("a")
            case 1: cache.removeAll()
            case 2: cache.removeAll { $0 == "a" }
            case 3: cache.set("a", [5], nil)
            case 5: #expect(cache.update("a") { $0 = nil } == nil)
            default:
                _ = cache.update("a") { bytes in
                    #expect(bytes == nil, "an expired value is none")
                    bytes = [6]
                }
            }
            throw Trouble.now
        }
        if way < 3 || way == 5 {
            await #expect(throws: Trouble.now) { try await cache.get("a", load) }
            #expect(cache.count == 0)
        } else {
            #expect(try await cache.get("a", load) == [way == 3 ? 5 : 6])
            #expect(cache.get("a") == [way == 3 ? 5 : 6])
        }
    }

    @Test("Get-or-set and removal treat an expired value as none", arguments: [0, 1])
    func making(_ kind: Int) async {
        let cache = expired(kind)
        #expect(cache.make("a") { [3] } == [3])
        #expect(cache.get("a") == [3])
        clock.advance(by: .seconds(11))
        cache.remove("a")
        await #expect(throws: Trouble.now) { try await cache.get("a") { throw Trouble.now } }
    }

    @Test("A forced refresh reports its failure and keeps the fallback", arguments: [0, 1])
    func forced(_ kind: Int) async throws {
        let cache = expired(kind)
        await #expect(throws: Trouble.now) { try await cache.refresh("a") { throw Trouble.now } }
        #expect(try await cache.get("a") { throw Trouble.now } == [1])
    }

    @Test("While a failure is remembered, the fallback answers without a load", arguments: [0, 1])
    func remembered(_ kind: Int) async throws {
        let cache = expired(kind) { $0.failureLifetime = .seconds(5) }
        let calls = Counter()
        let load: @Sendable () async throws -> [UInt8] = {
            calls.increment()
            throw Trouble.now
        }
        for _ in 0..<10 { #expect(try await cache.get("a", load) == [1]) }
        #expect(try await cache.get(["a"]) { _ in throw Trouble.now } == ["a": [1]])
        #expect(calls.value == 1)
        clock.advance(by: .seconds(5))
        #expect(try await cache.get("a", load) == [1])
        #expect(calls.value == 2)
    }

    @Test("In a bulk load, keys with a fallback do not fail", arguments: [0, 1])
    func bulk(_ kind: Int) async throws {
        let cache = expired(kind)
        #expect(try await cache.get(["a"]) { _ in throw Trouble.now } == ["a": [1]])
        await #expect(throws: Trouble.now) { try await cache.get(["a", "b"]) { _ in throw Trouble.now } }
        // A key without a value has not failed.
        #expect(try await cache.get(["a", "b"]) { _ in ["b": [2]] } == ["b": [2]])
    }

    @Test("Callers wait for the soft timeout, once; the load goes on and is stored", arguments: [0, 1])
    func soft(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let (gate, calls) = (Gate(), Counter())
        let load: @Sendable () async throws -> [UInt8] = {
            calls.increment()
            await gate.pass()
            return Task.isCancelled ? [9] : [2]
        }
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<50 { group.addTask { try await cache.get("a", load) } }
            // The load has begun, too: its task may run later than the one that watches its time.
            await yieldUntil {
                cache.loading.waiterCount(forKey: "a") == 50 && clock.sleeperCount == 1 && calls.value == 1
            }
            clock.advance(by: .seconds(2))
            for try await bytes in group { #expect(bytes == [1]) }
        }
        // The load takes longer than that: who comes now need not wait, alone or for many.
        #expect(try await cache.get("a", load) == [1])
        #expect(try await cache.get(["a"]) { _ in [:] } == ["a": [1]])
        #expect(calls.value == 1 && cache.statistics.fallbacks == 52)
        gate.open()
        await settle(cache)
        #expect(cache.get("a") == [2])
        #expect(cache.statistics.loads == 1 && cache.statistics.loadFailures == 0)
        await yieldUntil { clock.sleeperCount == 0 }
    }

    @Test("The soft timeout of a bulk load answers each key that has a fallback", arguments: [0, 1])
    func softBulk(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let gate = Gate()
        let task = Task {
            try await cache.get(["a", "b"]) { _ in
                await gate.pass()
                return ["a": [2], "b": [3]]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "b") == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(2))
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 0 }
        #expect(cache.loading.waiterCount(forKey: "b") == 1, "it has nothing to fall back to")
        gate.open()
        #expect(try await task.value == ["a": [1], "b": [3]])
        await settle(cache)
        #expect(cache.get("a") == [2] && cache.get("b") == [3])
    }

    @Test("Without a fallback the soft timeout ends nobody's wait", arguments: [0, 1])
    func softWithoutFallback(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let gate = Gate()
        let load: @Sendable () async throws -> [UInt8] = {
            await gate.pass()
            return [2]
        }
        let first = Task { try await cache.get("b", load) }
        await yieldUntil { cache.loading.waiterCount(forKey: "b") == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(2))
        await yieldUntil { cache.loading.flights.flight(of: "b")?.isOverdue == true }
        let second = Task { try await cache.get("b", load) }
        await yieldUntil { cache.loading.waiterCount(forKey: "b") == 2 }
        gate.open()
        #expect(try await first.value == [2])
        #expect(try await second.value == [2])
        #expect(cache.statistics.loads == 1)
    }

    @Test("Who joins a load just when the soft timeout has passed is answered at once", arguments: [0, 1])
    func softBesideJoining(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let flights = cache.loading.flights
        // As a caller of a refresh, whom no fallback answers.
        let lead = WaiterTerms(Never.self, takesFallback: false)
        let boarding = flights.board("a", lead, throwing: Never.self, makeRun: { LoadRun(priority: .medium) })
        guard case .leads(let flight, _) = boarding else {
            Issue.record("somebody else is loading")
            return
        }
        // A caller has looked whether the load is overdue; then that becomes so; then it joins.
        flight.becomeOverdue { [1] }
        let waiter = try #require(flight.join(WaiterTerms(Never.self, takesFallback: true)))
        cache.loading.didShare(flight)
        let outcome = Task { await flight.outcome(for: waiter) }
        #expect(flight.waiterCount == 1)
        flights.landUnloaded(flight, .value([2]))
        guard case .fallback([1]) = await outcome.value else {
            Issue.record("it has waited for the load")
            return
        }
    }

    @Test("A removal beside a load beyond the soft timeout leaves no fallback to newcomers", arguments: [0, 1])
    func removalBesideSoft(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let gate = Gate()
        let first = Task {
            try await cache.get("a") {
                await gate.pass()
                return [2]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(2))
        #expect(try await first.value == [1])
        cache.remove("a")
        #expect(try await cache.get("a") { [3] } == [3], "a load of its own")
        gate.open()
        await settle(cache)
        #expect(cache.get("a") == [3], "what was loaded before the removal stays out")
    }

    @Test("A load that has answered with a fallback is not cancelled with its waiters", arguments: [0, 1])
    func cancellation(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let gate = Gate()
        let load: @Sendable () async throws -> [UInt8] = {
            await gate.pass()
            try Task.checkCancellation()
            return [2]
        }
        let first = Task { try await cache.get("a", load) }
        let forced = Task { try await cache.refresh("a", load) }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 2 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(2))
        #expect(try await first.value == [1])
        forced.cancel()
        await #expect(throws: CancellationError.self) { try await forced.value }
        gate.open()
        await settle(cache)
        #expect(cache.get("a") == [2])
    }

    @Test("The last waiter to leave before the soft timeout cancels the load", arguments: [0, 1])
    func cancellationBefore(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        let gate = Gate()
        let task = Task {
            try await cache.get("a") {
                await gate.pass()
                try Task.checkCancellation()
                return [2]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 && clock.sleeperCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        await settle(cache)
        #expect(cache.get("a") == nil)
        #expect(try await cache.get("a") { throw Trouble.now } == [1])
    }

    @Test("An evicted fallback is none", arguments: [0, 1])
    func evicted(_ kind: Int) async {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(2) }
        cache.trim(toCount: 0)
        await #expect(throws: Trouble.now) { try await cache.get("a") { throw Trouble.now } }
    }

    /// A load returns, and then nobody wants its value any more, before it is stored.
    @Test("A value that is not stored leaves the fallback where it is", arguments: [0, 1])
    func abandoned(_ kind: Int) async throws {
        let caller = Mutex<Task<[UInt8], any Error>?>(nil)
        let told = Mutex<[RemovalCause]>([])
        let cache = expired(kind) { options in
            options.removalHandler = { _, _, cause in told.withLock { $0.append(cause) } }
            options.lifetime = { _, bytes in
                if bytes == [2] { caller.withLock { $0 }?.cancel() }
                return nil
            }
        }
        let gate = Gate()
        let task = Task {
            try await cache.get("a") {
                await gate.pass()
                return [2]
            }
        }
        caller.withLock { $0 = task }
        // Before it waits, a caller does not leave: it gets what the load has stored meanwhile.
        await yieldUntil { cache.loading.flights.flight(of: "a")?.suspendedCount == 1 }
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        await settle(cache)
        #expect(told.withLock { $0 } == [] && cache.get("a") == nil)
        #expect(try await cache.get("a") { throw Trouble.now } == [1])
        // One that is stored ends it.
        #expect(try await cache.get("a") { [3] } == [3])
        #expect(told.withLock { $0 } == [.expired])
    }
}
