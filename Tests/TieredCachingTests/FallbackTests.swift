//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import MemoryCachingTestKit
import Testing
import TieredCaching
import _CacheTestSupport

@Suite("Fallbacks of a tiered cache")
struct FallbackTests {
    struct Broken: Error {}
    let tests = TieredCacheTests()

    func makeCache(_ tier: InProcessTier) async -> TieredCacheTests.Cache {
        await tests.makeCache(tier) {
            $0.lifetime = .seconds(10)
            $0.keepsExpiredFor = .seconds(100)
        }
    }

    @Test("An expired value answers when the origin fails, from the remote tier")
    func remoteFallback() async throws {
        let tier = tests.server.makeTier()
        let cache = await makeCache(tier)
        _ = try await cache.value(forKey: 1) { "old" }
        tests.pass(.seconds(11), tier)
        #expect(try await cache.value(forKey: 1) { throw Broken() } == "old")
        #expect(try await cache.value(forKey: 1) { "new" } == "new")
        tests.pass(.seconds(111), tier)
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
    }

    @Test("An expired value answers when remote tier and origin fail, from near")
    func nearFallback() async throws {
        let tier = tests.server.makeTier()
        let cache = await makeCache(tier)
        _ = try await cache.value(forKey: 1) { "old" }
        tier.disconnect()
        #expect(try await cache.value(forKey: 1) { throw Broken() } == "old")
        #expect(try await cache.value(forKey: 1) { "origin" } == "origin")
        tests.pass(.seconds(111))
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
    }

    @Test("A slow remote tier is answered for by the fallback, and else by the origin")
    func slowRemote() async throws {
        let tier = tests.server.makeTier()
        let cache = await makeCache(tier)
        _ = try await cache.value(forKey: 1) { "old" }
        tests.clock.advance(by: .seconds(11))
        tier.report(.tick)
        tier.fail(with: .timedOut)
        #expect(try await cache.value(forKey: 1) { "not asked" } == "old")
        #expect(try await cache.value(forKey: 2) { "origin" } == "origin")
    }

    @Test("After a removal nothing falls back", arguments: [true, false])
    func removed(removedByAnother: Bool) async throws {
        let tier = tests.server.makeTier()
        let (cache, other) = (await makeCache(tier), await makeCache(tests.server.makeTier()))
        _ = try await cache.value(forKey: 1) { "old" }
        try await (removedByAnother ? other : cache).removeValue(forKey: 1)
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
        tier.disconnect()
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
    }

    @Test("Values that are kept for ever are found by other processes", arguments: [300, Int64.max])
    func keptForEver(lifetime: Int64) async throws {
        func makeCache() async -> TieredCacheTests.Cache {
            await tests.makeCache(tests.server.makeTier()) {
                $0.lifetime = .seconds(lifetime)
                $0.keepsExpiredFor = .seconds(Int64.max)
            }
        }
        let (here, there) = (await makeCache(), await makeCache())
        #expect(try await here.value(forKey: 1) { "one" } == "one")
        #expect(try await there.value(forKey: 1) { "not asked" } == "one")
        try await there.setValue("two", forKey: 1)
        #expect(try await here.value(forKey: 1) == "two")
        #expect(here.nearValue(forKey: 1) == "two")
    }

    enum Interruption: CaseIterable { case removedAll, flushed, removedWhileCutOff }

    @Test("What a generation ended with is no fallback in the next", arguments: Interruption.allCases)
    func endedGeneration(_ interruption: Interruption) async throws {
        let tier = tests.server.makeTier()
        let (cache, other) = (await makeCache(tier), await makeCache(tests.server.makeTier()))
        _ = try await cache.value(forKey: 1) { "old" }
        switch interruption {
        case .removedAll: try await other.removeAll()
        case .flushed: tests.server.flush()
        case .removedWhileCutOff:
            tier.disconnect()
            try await other.removeValue(forKey: 1)
            tier.connect()
        }
        await yieldUntil { cache.isCoherent }
        tier.fail(with: .timedOut)
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
    }

    @Test("A removal during a load takes the fallback away")
    func removedDuringLoad() async throws {
        let tier = tests.server.makeTier()
        let (cache, other) = (await makeCache(tier), await makeCache(tests.server.makeTier()))
        _ = try await cache.value(forKey: 1) { "old" }
        tests.pass(.seconds(11), tier)
        await #expect(throws: Broken.self) {
            try await cache.value(forKey: 1) {
                try await other.removeValue(forKey: 1)
                throw Broken()
            }
        }
    }

    @Test("A removal during the wait for another process takes the fallback away, also without room for a lease")
    func removedDuringWait() async throws {
        let (tier, otherTier) = (tests.server.makeTier(), tests.server.makeTier())
        let (cache, other) = (await makeCache(tier), await makeCache(otherTier))
        _ = try await cache.value(forKey: 1) { "old" }
        tests.pass(.seconds(11), tier, otherTier)
        let gate = Gate()
        let load = Task {
            try await other.value(forKey: 1) {
                await gate.pass()
                return "late"
            }
        }
        await yieldUntil { other.statistics.loads == 1 }
        let waiting = Task { try await cache.value(forKey: 1) { throw Broken() } }
        await yieldUntil { cache.statistics.leaseWaits > 0 }
        tier.fail(with: .full)
        try await other.removeValue(forKey: 1)
        await #expect(throws: Broken.self) { try await waiting.value }
        gate.open()
        #expect(try await load.value == "late")
    }

    @Test("A slow load is answered for by the fallback, and stored when it ends")
    func slowLoad() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .milliseconds(1))
        let gate = Gate()
        let answer = try await cache.value(forKey: 1) {
            await gate.pass()
            return "new"
        }
        #expect(answer == "old")
        gate.open()
        await yieldUntil { cache.nearValue(forKey: 1) == "new" }
    }

    @Test("However short the soft timeout of a load is, the fallback answers")
    func shortestWait() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier) {
            $0.lifetime = .seconds(10)
            $0.keepsExpiredFor = .seconds(100)
            $0.softLoadTimeout = .nanoseconds(1)
        }
        for key in 0..<3_000 { try await cache.setValue("old", forKey: key) }
        tests.pass(.seconds(11), tier)
        let gate = Gate()
        try await failingWhenStuck("the wait for a fallback") {
            for key in 0..<3_000 {
                let value = try await cache.value(forKey: key) {
                    await gate.pass()
                    return "new"
                }
                if value != "old" { Issue.record("\(key): \(value)") }
            }
        }
        gate.open()
    }

    @Test("The remote tier is not asked while it fails, but by one probe in each pause")
    func breaker() async throws {
        let tier = tests.server.makeTier()
        let cache = await makeCache(tier)
        tier.fail(with: .timedOut)
        let before = tier.operationCount
        for key in 0..<1_000 { #expect(try await cache.value(forKey: key) { "origin" } == "origin") }
        #expect(tier.operationCount - before == 5)
        tests.clock.advance(by: .seconds(1))
        for key in 0..<100 { #expect(try await cache.value(forKey: key) { "origin" } == "origin") }
        #expect(tier.operationCount - before == 6)
        tier.fail(with: nil)
        tests.clock.advance(by: .seconds(2))
        _ = try await cache.value(forKey: 1) { "origin" }
        #expect(cache.nearValue(forKey: 1) == "origin")
    }
}
