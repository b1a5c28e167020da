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

@Suite("Loading: callers that cannot be told of others' errors", .timeLimit(.minutes(10)))
struct LoadingOwnTests {
    enum Trouble: Error { case now }

    /// Starts a load of "a" that fails, and another one behind it that ends only after `wait` has returned or waits for
    /// it: nil in that case. `wait` is called while the first one is under way, and the second one is under way when
    /// that caller hears of the failure.
    private func whileOthersFail(
        _ cache: MemoryCache<String, Int>,
        _ wait: @escaping @Sendable () async -> Int?
    ) async -> Int? {
        let (first, second) = (Gate(), Gate())
        let loads = Mutex<[Task<Int, any Error>]>([])
        let leader = Task {
            try await cache.value(forKey: "a") { () async throws(Trouble) -> Int in
                await first.pass()
                // What is under way for the key admits nobody any more.
                cache.removeValue(forKey: "a")
                let next = Task.detached {
                    try await cache.value(forKey: "a") { () async throws(Trouble) -> Int in
                        await second.pass()
                        throw .now
                    }
                }
                loads.withLock { $0.append(next) }
                await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 }
                throw .now
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 }
        let hasReturned = Counter()
        let caller = Task {
            defer { hasReturned.increment() }
            return await wait()
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 2 }
        let flight = cache.loading.flights.flight(of: "a")
        first.open()
        await yieldUntil { flight?.isAdmitting == false }
        // The second load has one waiter of its own.
        await yieldUntil { hasReturned.value == 1 || cache.loading.waiterCount(forKey: "a") == 2 }
        let value = hasReturned.value == 1 ? await caller.value : nil
        second.open()
        _ = await caller.value
        _ = await leader.result
        for load in loads.withLock({ $0 }) { _ = await load.result }
        return value
    }

    @Test("A caller that was told nothing loads for itself, though another load is under way by then")
    func single() async {
        let cache = MemoryCache<String, Int>()
        #expect(await whileOthersFail(cache) { await cache.value(forKey: "a") { () async -> Int in 5 } } == 5)
    }

    @Test("So does a bulk load")
    func bulk() async {
        let cache = MemoryCache<String, Int>()
        let value = await whileOthersFail(cache) {
            await cache.values(forKeys: ["a"]) { (keys: [String]) async -> [String: Int] in
                Dictionary(uniqueKeysWithValues: keys.map { ($0, 6) })
            }["a"]
        }
        #expect(value == 6)
    }

    @Test("Who comes again joins loads of whose errors it can be told, and no others")
    func joining() {
        func joins<Load: Error, Caller: Error>(_: Load.Type, _: Caller.Type, isAgain: Bool) -> Bool {
            let table = FlightTable<String, Int>()
            let terms = WaiterTerms(Load.self, takesFallback: false)
            _ = table.board("a", terms, throwing: Load.self) { LoadRun(priority: .medium) }
            let own = WaiterTerms(Caller.self, takesFallback: false)
            let boarding = table.board("a", own, throwing: Caller.self, isAgain: isAgain) { LoadRun(priority: .medium) }
            if case .joined = boarding { return true } else { return false }
        }
        for isAgain in [false, true] {
            #expect(joins(Never.self, Trouble.self, isAgain: isAgain))
            #expect(joins(Trouble.self, Trouble.self, isAgain: isAgain))
            #expect(joins(Trouble.self, (any Error).self, isAgain: isAgain))
            #expect(joins((any Error).self, (any Error).self, isAgain: isAgain))
            #expect(joins(Trouble.self, Never.self, isAgain: isAgain) != isAgain)
            #expect(joins((any Error).self, Trouble.self, isAgain: isAgain) != isAgain)
            #expect(joins(CancellationError.self, Trouble.self, isAgain: isAgain) != isAgain)
        }
    }

    @Test("A bulk load is told when its only caller is cancelled, whatever that can be told", arguments: [1, 2, 5])
    func bulkCancellation(_ count: Int) async {
        let cache = MemoryCache<Int, Int>()
        let hasBegun = Gate()
        let caller = Task {
            await cache.values(forKeys: 0..<count) { (keys: [Int]) async -> [Int: Int] in
                hasBegun.open()
                await yieldUntil { Task.isCancelled }
                return Dictionary(uniqueKeysWithValues: keys.map { ($0, $0) })
            }
        }
        await hasBegun.pass()
        caller.cancel()
        #expect(await caller.value.count == count)
        #expect(cache.count == 0, "the result of a load that was told to stop stays out")
    }

    @Test("A bulk load goes on while somebody wants one of its keys")
    func bulkGoesOn() async {
        let cache = MemoryCache<Int, Int>()
        let gate = Gate()
        let caller = Task {
            await cache.values(forKeys: 0..<3) { (keys: [Int]) async -> [Int: Int] in
                await gate.pass()
                return Task.isCancelled ? [:] : Dictionary(uniqueKeysWithValues: keys.map { ($0, $0) })
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: 2) == 1 }
        let other = Task { await cache.value(forKey: 1) { -1 } }
        await yieldUntil { cache.loading.waiterCount(forKey: 1) == 2 }
        caller.cancel()
        await yieldUntil { cache.loading.waiterCount(forKey: 1) == 1 }
        gate.open()
        #expect(await other.value == 1)
        _ = await caller.value
    }

    @Test("A clock that jumps while loads are under way ends nothing")
    func jumpingClock() async {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(options: .init(clock: clock))
        let gate = Gate()
        let loads = (0..<4).map { key in
            Task {
                await cache.value(forKey: key) { () async -> Int in
                    await gate.pass()
                    return key
                }
            }
        }
        await yieldUntil { cache.statistics.loads == 4 }
        clock.advance(by: .seconds(6_000_000_000))
        gate.open()
        for load in loads { _ = await load.value }
        #expect(cache.statistics.totalLoadTime == .nanoseconds(Int64.max))
    }

    @Test("A failure is forgotten when a later load succeeds", arguments: CacheKind.allCases)
    func forgottenFailure(_ kind: CacheKind) async throws {
        let clock = ManualClock()
        let options = MemoryCacheOptions<String, Int>(
            expiresAfter: .seconds(5),
            failureLifetime: .seconds(100),
            clock: clock
        )
        let cache = EitherCache<String>(kind, options: options)
        await #expect(throws: Trouble.now) { try await cache.value(forKey: "a") { throw Trouble.now } }
        _ = await cache.refreshValue(forKey: "a") { 1 }
        #expect(cache["a"] == 1)
        clock.advance(by: .seconds(6))
        #expect(try await cache.value(forKey: "a") { () async throws -> Int in 2 } == 2)
    }
}
