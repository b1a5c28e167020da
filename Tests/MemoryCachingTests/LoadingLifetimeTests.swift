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

@Suite("Loading: lifetimes and refreshes", .timeLimit(.minutes(10)))
struct LoadingLifetimeTests {
    enum Trouble: Error { case first }

    let clock = ManualClock()

    func cache(
        _ kind: CacheKind,
        _ change: (inout MemoryCacheOptions<String, Int>) -> Void
    ) -> EitherCache<String> {
        var options = MemoryCacheOptions<String, Int>(clock: clock)
        change(&options)
        return EitherCache(kind, options: options)
    }

    func settle(_ cache: EitherCache<String>) async {
        await yieldUntil { cache.flightCount == 0 }
    }

    @Test("A value that was loaded lives as long as one that was set", arguments: CacheKind.allCases)
    func expiryAfterWrite(_ kind: CacheKind) async {
        let cache = cache(kind) { $0.expiresAfter = .seconds(10) }
        #expect(await cache.value(forKey: "a") { 1 } == 1)
        clock.advance(by: .seconds(9))
        #expect(await cache.value(forKey: "a") { 2 } == 1)
        clock.advance(by: .seconds(1))
        #expect(await cache.value(forKey: "a") { 3 } == 3)
        #expect(cache.statistics.removals(.expired) == 1)
    }

    @Test("Use keeps an entry alive where lifetimes count from the last use", arguments: CacheKind.allCases)
    func expiryAfterAccess(_ kind: CacheKind) async {
        let cache = cache(kind) { $0.expiresAfterAccess = .seconds(10) }
        cache["a"] = 1
        cache["unused"] = 1
        for _ in 0..<5 {
            clock.advance(by: .seconds(9))
            #expect(cache["a"] == 1)
        }
        #expect(cache["unused"] == nil)
        // Looking whether it is there is no use.
        clock.advance(by: .seconds(9))
        #expect(cache.contains("a"))
        clock.advance(by: .seconds(1))
        #expect(!cache.contains("a"))
        #expect(cache.count == 0)
    }

    @Test("With both, the first of the two decides", arguments: CacheKind.allCases)
    func expiryAfterBoth(_ kind: CacheKind) {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(25)
            $0.expiresAfterAccess = .seconds(10)
        }
        cache["a"] = 1
        cache["b"] = 1
        for _ in 0..<2 {
            clock.advance(by: .seconds(9))
            #expect(cache["a"] == 1)
        }
        #expect(cache["b"] == nil)
        clock.advance(by: .seconds(7))
        #expect(cache["a"] == nil)
    }

    @Test("Lifetimes from the last use survive the cache's growth", arguments: CacheKind.allCases)
    func expiryAfterAccessInManyShards(_ kind: CacheKind) {
        let cache = EitherCache<Int>(
            kind,
            options: .init(expiresAfter: .seconds(25), expiresAfterAccess: .seconds(10), clock: clock)
        )
        for key in 0..<20_000 { cache[key] = key }
        for _ in 0..<2 {
            clock.advance(by: .seconds(9))
            for key in 0..<10_000 { #expect(cache[key] == key) }
        }
        #expect(cache.count == 10_000)
        clock.advance(by: .seconds(7))
        #expect(cache.count == 0)
    }

    @Test("A lifetime may be given by entry, or with the value", arguments: CacheKind.allCases)
    func expiryByEntry(_ kind: CacheKind) async {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.lifetime = { key, value in key == "short" ? .seconds(value) : nil }
        }
        _ = await cache.value(forKey: "short") { 5 }
        _ = await cache.value(forKey: "long") { 5 }
        cache.setValue(5, forKey: "given", expiresAfter: .seconds(50))
        clock.advance(by: .seconds(5))
        #expect(cache["short"] == nil && cache["long"] == 5 && cache["given"] == 5)
        clock.advance(by: .seconds(45))
        #expect(cache["long"] == 5 && cache["given"] == nil)
        clock.advance(by: .seconds(50))
        #expect(cache["long"] == nil)
    }

    @Test("Jitter shortens lifetimes by at most its share, each by its own", arguments: CacheKind.allCases)
    func jitter(_ kind: CacheKind) {
        let cache = EitherCache<Int>(
            kind,
            options: .init(expiresAfter: .seconds(100), lifetimeJitter: 0.5, clock: clock)
        )
        for key in 0..<1000 { cache[key] = key }
        clock.advance(by: .nanoseconds(49_999_999_999))
        #expect(cache.count == 1000)
        var counts: [Int] = []
        for _ in 0..<10 {
            clock.advance(by: .seconds(5))
            counts.append(cache.count)
        }
        // Each step of the last 50 seconds takes about a tenth; 40 is six standard deviations away from 100.
        for (before, after) in zip([1000] + counts, counts) { #expect((40...160).contains(before - after)) }
        clock.advance(by: .nanoseconds(1))
        #expect(cache.count == 0)
    }

    @Test("A stale value is served while one load refreshes it", arguments: CacheKind.allCases)
    func staleWhileRevalidate(_ kind: CacheKind) async {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
        }
        let loads = Counter()
        let gate = Gate()
        func value() async -> Int {
            await cache.value(forKey: "a") { () async -> Int in
                let load = loads.increment()
                if load == 2 { await gate.pass() }
                return load
            }
        }
        #expect(await value() == 1)
        clock.advance(by: .seconds(59))
        #expect(await value() == 1)
        #expect(loads.value == 1)
        clock.advance(by: .seconds(2))
        // Stale: served at once, while the refresh is held up.
        for _ in 0..<10 { #expect(await value() == 1) }
        await yieldUntil { loads.value == 2 }
        gate.open()
        await settle(cache)
        #expect(await value() == 2)
        #expect(loads.value == 2)
        #expect(cache.statistics.loads == 2)
        // Fresh again for as long as before.
        clock.advance(by: .seconds(59))
        #expect(await value() == 2)
        await settle(cache)
        #expect(loads.value == 2)
    }

    @Test("A refresh that fails leaves the value, and is not repeated in its window", arguments: CacheKind.allCases)
    func failedRefresh(_ kind: CacheKind) async throws {
        let results = Mutex<[CacheLoad<String>.Reason]>([])
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
            $0.loadHandler = { load in results.withLock { $0.append(load.reason) } }
        }
        cache["a"] = 1
        clock.advance(by: .seconds(70))
        for _ in 0..<5 {
            #expect(try await cache.value(forKey: "a") { () async throws -> Int in throw Trouble.first } == 1)
            await settle(cache)
        }
        #expect(results.withLock { $0 } == [.refresh])
        #expect(cache.statistics.loadFailures == 1)
        clock.advance(by: .seconds(30))
        #expect(try await cache.value(forKey: "a") { () async throws -> Int in 2 } == 2)
        // The next window is another one.
        clock.advance(by: .seconds(70))
        #expect(await cache.value(forKey: "a") { 3 } == 2)
        await settle(cache)
        #expect(cache["a"] == 3)
    }

    @Test(
        "In an outage every stale key is tried once in its window, however many there are",
        arguments: CacheKind.allCases,
        [false, true]
    )
    func manyFailedRefreshes(_ kind: CacheKind, isIdleToo: Bool) async throws {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
            // Lookups then move the entries in the wheel, which is no new deadline.
            if isIdleToo { $0.expiresAfterAccess = .seconds(90) }
        }
        let keys = (0..<5000).map { "\($0)" }
        // The cache splits on the way: what is known of half of them moves with them.
        for key in keys.prefix(1000) { cache[key] = 1 }
        clock.advance(by: .seconds(65))
        for _ in 0..<2 {
            for key in keys.prefix(1000) {
                #expect(try await cache.value(forKey: key) { () async throws -> Int in throw Trouble.first } == 1)
            }
            await settle(cache)
        }
        #expect(cache.statistics.loads == 1000)
        for key in keys.dropFirst(1000) { cache[key] = 1 }
        clock.advance(by: .seconds(5))
        for key in keys.prefix(1000) { _ = await cache.value(forKey: key) { 2 } }
        await settle(cache)
        #expect(cache.statistics.loads == 1000)
        clock.advance(by: .seconds(60))
        for round in 0..<5 {
            let found = await cache.values(forKeys: keys.dropFirst(4000)) { _ in [:] }
            #expect(found.count == 1000, "the last fifth is refreshed in bulk, in round \(round)")
            for key in keys[1000..<4000] {
                #expect(try await cache.value(forKey: key) { () async throws -> Int in throw Trouble.first } == 1)
            }
            await settle(cache)
        }
        // 1,000 before, one load for the last thousand, and one for each of the others.
        #expect(cache.statistics.loads == 1000 + 1 + 3000)
        // A new value has a window of its own.
        cache["2000"] = 1
        clock.advance(by: .seconds(70))
        #expect(await cache.value(forKey: "2000") { 3 } == 1)
        await settle(cache)
        #expect(cache["2000"] == 3)
    }

    @Test("A change during a refresh wins over it", arguments: CacheKind.allCases, [false, true])
    func changeDuringRefresh(_ kind: CacheKind, isRemoval: Bool) async {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
        }
        let gate = Gate()
        let began = Gate()
        cache["a"] = 1
        clock.advance(by: .seconds(70))
        #expect(
            await cache.value(forKey: "a") { () async -> Int in
                began.open()
                await gate.pass()
                return 2
            } == 1
        )
        await began.pass()
        if isRemoval { cache["a"] = nil } else { cache["a"] = 3 }
        gate.open()
        await settle(cache)
        #expect(cache["a"] == (isRemoval ? nil : 3))
    }

    @Test("A caller that misses during a refresh waits for it", arguments: CacheKind.allCases)
    func missDuringRefresh(_ kind: CacheKind) async {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
        }
        let gate = Gate()
        let began = Gate()
        cache["a"] = 1
        clock.advance(by: .seconds(70))
        _ = await cache.value(forKey: "a") { () async -> Int in
            began.open()
            await gate.pass()
            return 2
        }
        await began.pass()
        clock.advance(by: .seconds(30))
        let waiter = Task { await cache.value(forKey: "a") { 3 } }
        await yieldUntil { cache.statistics.coalescedLoads == 1 }
        gate.open()
        #expect(await waiter.value == 2)
    }

    @Test(
        "Stale values asked for together are refreshed in one load, once in their window",
        arguments: CacheKind.allCases,
        [false, true]
    )
    func bulkRefresh(_ kind: CacheKind, fails: Bool) async throws {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
        }
        let asked = Mutex<[Set<String>]>([])
        func values() async throws -> [String: Int] {
            try await cache.values(forKeys: ["a", "b", "c"]) { keys async throws -> [String: Int] in
                asked.withLock { $0.append(Set(keys)) }
                if fails { throw Trouble.first }
                // Nothing is known of "b" any more: that counts as its refresh.
                return ["a": 10, "c": 30]
            }
        }
        (cache["a"], cache["b"]) = (1, 2)
        clock.advance(by: .seconds(50))
        cache["c"] = 3
        #expect(try await values() == ["a": 1, "b": 2, "c": 3])
        #expect(asked.withLock { $0 } == [])
        clock.advance(by: .seconds(20))
        for round in 0..<3 {
            let a = round > 0 && !fails ? 10 : 1
            #expect(try await values() == ["a": a, "b": 2, "c": 3])
            await settle(cache)
        }
        #expect(asked.withLock { $0 } == [["a", "b"]])
        #expect(cache.statistics.loads == 1)
        // One by one it is the same window.
        #expect(await cache.value(forKey: "b") { 20 } == 2)
        #expect(cache.statistics.loads == 1)
    }

    @Test("The refresh outlives the caller that started it", arguments: CacheKind.allCases)
    func refreshOutlivesCaller(_ kind: CacheKind) async {
        let cache = cache(kind) {
            $0.expiresAfter = .seconds(100)
            $0.staleWindow = .seconds(40)
        }
        cache["a"] = 1
        clock.advance(by: .seconds(70))
        let gate = Gate()
        let caller = Task {
            try await cache.value(forKey: "a") { () async throws -> Int in
                await gate.pass()
                try Task.checkCancellation()
                return 2
            }
        }
        _ = await caller.result
        caller.cancel()
        gate.open()
        await settle(cache)
        #expect(cache["a"] == 2)
    }

    @Test("The closure for lifetimes is asked before the lifetime of all entries", arguments: CacheKind.allCases)
    func lifetimeOfAnEntry(_ kind: CacheKind) {
        let clock = ManualClock()
        let asked = Counter()
        let options = MemoryCacheOptions<Int, Int>(
            expiresAfter: .seconds(3600),
            lifetime: { key, _ in
                asked.increment()
                return key == 1 ? .seconds(5) : nil
            },
            clock: clock
        )
        let cache = EitherCache<Int>(kind, options: options)
        for key in 1...3 { cache[key] = key }
        #expect(asked.value == 3)
        cache.setValue(1, forKey: 4, expiresAfter: .seconds(7))
        clock.advance(by: .seconds(6))
        #expect(cache[1] == nil && cache[2] == 2 && cache[3] == 3 && cache[4] == 1)
        clock.advance(by: .seconds(2))
        #expect(cache[4] == nil && cache[2] == 2)
    }

    @Test("A moment before another one never wraps, and is never the one at which nothing has expired")
    func momentsBefore() {
        let moments: [Int64] = [.min, .min + 1, .min + 2, -5, 0, 5, .max - 1, .max]
        for now in moments {
            for length in [0, 1, 2, 100, .max - 1, .max] as [Int64] {
                let exact = now.subtractingReportingOverflow(length)
                let expected = now == .min ? now : exact.overflow ? .min + 1 : max(.min + 1, exact.partialValue)
                #expect(EntryDeadline.before(now, by: length) == expected, "\(now) - \(length)")
            }
        }
    }
}
