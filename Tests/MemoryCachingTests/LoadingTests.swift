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

@Suite("Loading: one flight per key", .timeLimit(.minutes(10)))
struct LoadingTests {
    enum Trouble: Error, Equatable { case first, second }

    /// A load that counts its calls and waits at a gate.
    final class Source: Sendable {
        let calls = Counter()
        let gate = Gate()

        func load(_ value: Int) async -> Int {
            calls.increment()
            await gate.pass()
            return value
        }
    }

    @Test("A hit is answered from the cache, and the closure is not even made")
    func hit() async {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        func loader() -> @Sendable () async -> Int {
            Issue.record("a hit made the closure")
            return { 2 }
        }
        #expect(await cache.value(forKey: "a", load: loader()) == 1)
        #expect(cache.statistics.loads == 0)
    }

    @Test("A hit does not suspend: nothing else runs on the actor meanwhile", arguments: CacheKind.allCases)
    @MainActor
    func hitDoesNotSuspend(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        cache["a"] = 1
        var other = false
        let task = Task { @MainActor in other = true }
        for _ in 0..<1000 { _ = await cache.value(forKey: "a") { 2 } }
        #expect(!other)
        await task.value
        #expect(other)
    }

    @Test("A thousand concurrent callers of one missing key cause one load", arguments: CacheKind.allCases)
    func thousandCallers(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let source = Source()
        let results = await withTaskGroup(of: Int.self, returning: [Int].self) { group in
            for _ in 0..<1000 {
                group.addTask { await cache.value(forKey: "a") { await source.load(7) } }
            }
            await yieldUntil { cache.waiterCount(forKey: "a") == 1000 }
            source.gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == Array(repeating: 7, count: 1000))
        #expect(source.calls.value == 1)
        let statistics = cache.statistics
        #expect(statistics.loads == 1)
        #expect(statistics.coalescedLoads == 999)
        #expect(statistics.loadFailures == 0)
        #expect(cache["a"] == 7)
    }

    @Test("A cancelled first waiter leaves at once and does not harm the second", arguments: CacheKind.allCases)
    func firstWaiterCancelled(_ kind: CacheKind) async throws {
        let cache = EitherCache<String>(kind)
        let source = Source()
        let first = Task { try await cache.value(forKey: "a") { try await Self.throwing(source, 7) } }
        await yieldUntil { cache.waiterCount(forKey: "a") == 1 }
        let second = Task { try await cache.value(forKey: "a") { try await Self.throwing(source, 8) } }
        await yieldUntil { cache.waiterCount(forKey: "a") == 2 }

        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(cache.waiterCount(forKey: "a") == 1)
        source.gate.open()
        #expect(try await second.value == 7)
        #expect(cache["a"] == 7)
        #expect(source.calls.value == 1)
    }

    static func throwing(_ source: Source, _ value: Int) async throws -> Int {
        let value = await source.load(value)
        try Task.checkCancellation()
        return value
    }

    @Test("The last waiter to leave cancels the load, and its result stays out", arguments: CacheKind.allCases)
    func lastWaiterCancels(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let sawCancellation = Gate()
        let release = Gate()
        let tasks = (0..<2).map { _ in
            Task {
                try await cache.value(forKey: "a") { () async throws -> Int in
                    await withTaskCancellationHandler {
                        await release.pass()
                    } onCancel: {
                        sawCancellation.open()
                    }
                    return 7
                }
            }
        }
        await yieldUntil { cache.waiterCount(forKey: "a") == 2 }
        for task in tasks {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        await sawCancellation.pass()
        // Somebody who comes now gets a load of his own, though the old one has not ended.
        #expect(await cache.value(forKey: "a") { 8 } == 8)
        release.open()
        await yieldUntil { cache.flightCount == 0 }
        #expect(cache["a"] == 8)
    }

    @Test(
        "A waiter that cannot be told of its cancellation stays, but does not keep the load from being cancelled",
        arguments: CacheKind.allCases
    )
    func stayingWaiter(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let task = Task {
            await cache.value(forKey: "a") { () async -> Int in
                while !Task.isCancelled { await Task.yield() }
                return 7
            }
        }
        await yieldUntil { cache.waiterCount(forKey: "a") == 1 }
        task.cancel()
        #expect(await task.value == 7)
        #expect(!cache.contains("a"))
    }

    @Test("A cancelled caller that can be told of it starts no load", arguments: CacheKind.allCases)
    func cancelledBefore(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        cache["hit"] = 1
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(try await cache.value(forKey: "hit") { throw Trouble.first } == 1)
            return try await cache.value(forKey: "miss") { () async throws -> Int in
                Issue.record("loaded for a cancelled caller")
                return 7
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(cache.statistics.loads == 0)
    }

    enum Change: CaseIterable { case set, subscriptNil, remove, removeAll }

    @Test("A change during a load keeps its result out of the cache", arguments: CacheKind.allCases, Change.allCases)
    func changeDuringLoad(_ kind: CacheKind, change: Change) async {
        let cache = EitherCache<String>(kind)
        let source = Source()
        let waiter = Task { await cache.value(forKey: "a") { await source.load(7) } }
        await yieldUntil { source.calls.value == 1 }
        switch change {
        case .set: cache["a"] = 8
        case .subscriptNil: cache["a"] = nil
        case .remove: cache.removeValue(forKey: "a")
        case .removeAll: cache.removeAll()
        }
        source.gate.open()
        #expect(await waiter.value == 7)
        #expect(cache["a"] == (change == .set ? 8 : nil))
    }

    @Test("A caller after a removal does not get what was loaded before it", arguments: CacheKind.allCases)
    func callerAfterRemoval(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let old = Source()
        let early = Task { await cache.value(forKey: "a") { await old.load(7) } }
        await yieldUntil { old.calls.value == 1 }
        cache.removeValue(forKey: "a")
        #expect(await cache.value(forKey: "a") { 8 } == 8)
        old.gate.open()
        #expect(await early.value == 7)
        #expect(cache["a"] == 8)
    }

    @Test("A change of another key leaves a load alone", arguments: CacheKind.allCases)
    func changeElsewhere(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let source = Source()
        let waiter = Task { await cache.value(forKey: "a") { await source.load(7) } }
        await yieldUntil { source.calls.value == 1 }
        cache["b"] = 1
        cache.removeValue(forKey: "c")
        source.gate.open()
        #expect(await waiter.value == 7)
        #expect(cache["a"] == 7)
    }

    @Test("A failing load reaches all who wait and leaves nothing behind", arguments: CacheKind.allCases)
    func failure(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let gate = Gate()
        let tasks = (0..<10).map { _ in
            Task { () -> Trouble? in
                do throws(Trouble) {
                    _ = try await cache.value(forKey: "a") { () async throws(Trouble) -> Int in
                        await gate.pass()
                        throw .first
                    }
                    return nil
                } catch { return error }
            }
        }
        await yieldUntil { cache.waiterCount(forKey: "a") == 10 }
        gate.open()
        for task in tasks { #expect(await task.value == .first) }
        #expect(cache.count == 0)
        #expect(cache.flightCount == 0)
        let statistics = cache.statistics
        #expect(statistics.loads == 1 && statistics.loadFailures == 1 && statistics.coalescedLoads == 9)
        #expect(await cache.value(forKey: "a") { 7 } == 7)
    }

    @Test("A caller that cannot express another one's error loads for itself", arguments: CacheKind.allCases)
    func differentErrors(_ kind: CacheKind) async throws {
        let cache = EitherCache<String>(kind)
        let gate = Gate()
        let thrower = Task {
            try await cache.value(forKey: "a") { () async throws -> Int in
                await gate.pass()
                throw Trouble.first
            }
        }
        await yieldUntil { cache.waiterCount(forKey: "a") == 1 }
        let sure = Task { await cache.value(forKey: "a") { 7 } }
        await yieldUntil { cache.waiterCount(forKey: "a") == 2 }
        gate.open()
        await #expect(throws: Trouble.first) { try await thrower.value }
        #expect(await sure.value == 7)
        #expect(cache["a"] == 7)
    }

    @Test(
        "A failure is remembered for its lifetime where the options say so, and a change forgets it",
        arguments: CacheKind.allCases
    )
    func failureLifetime(_ kind: CacheKind) async throws {
        let clock = ManualClock()
        let cache = EitherCache<String>(kind, options: .init(failureLifetime: .seconds(10), clock: clock))
        let calls = Counter()
        func attempt() async throws -> Int {
            try await cache.value(forKey: "a") { () async throws -> Int in
                calls.increment()
                throw Trouble.first
            }
        }
        await #expect(throws: Trouble.first) { try await attempt() }
        clock.advance(by: .seconds(9))
        await #expect(throws: Trouble.first) { try await attempt() }
        #expect(calls.value == 1)
        clock.advance(by: .seconds(1))
        await #expect(throws: Trouble.first) { try await attempt() }
        #expect(calls.value == 2)
        cache.removeValue(forKey: "a")
        await #expect(throws: Trouble.first) { try await attempt() }
        #expect(calls.value == 3)
        // A caller that cannot be told of the failure is not bound by it.
        #expect(await cache.value(forKey: "a") { 7 } == 7)
    }

    @Test("A ticket admits a result only where the entry is as the load left it, and nobody has revoked it")
    func ticket() {
        let clock = ManualClock()
        let engine = CacheEngine<String, Int>(clock: clock)
        #expect(engine.setValue(1, forKey: "a", ticket: LoadTicket()))
        // Set beside the load, which had missed: the newer value stays.
        #expect(!engine.setValue(2, forKey: "a", ticket: LoadTicket()))
        #expect(engine.value(forKey: "a") == 1)

        engine.setValue(3, forKey: "b", expiresAfter: .seconds(10))
        let deadline = engine.deadline(forKey: "b")?.last
        #expect(engine.setValue(4, forKey: "b", expiresAfter: .seconds(20), ticket: LoadTicket(replacing: deadline)))
        #expect(!engine.setValue(5, forKey: "b", expiresAfter: .seconds(20), ticket: LoadTicket(replacing: deadline)))
        #expect(engine.value(forKey: "b") == 4)

        let revoked = LoadTicket()
        revoked.revoke()
        #expect(!engine.setValue(6, forKey: "c", ticket: revoked))
        #expect(!engine.contains("c"))
        #expect(engine.count == 2)
    }
}
