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

@Suite("A tiered cache over a server in the process")
struct TieredCacheTests {
    typealias Cache = TieredCache<Int, String>

    let server = InProcessServer()
    let clock = ManualClock()

    func makeCache(
        _ tier: InProcessTier,
        name: String = "cache",
        _ change: (inout TieredCacheOptions) -> Void = { _ in }
    ) async -> Cache {
        let cache = makeUnjoinedCache(tier, name: name, change)
        if tier.isUp { await yieldUntil { cache.isCoherent } }
        return cache
    }

    func makeUnjoinedCache(
        _ tier: InProcessTier,
        name: String = "cache",
        _ change: (inout TieredCacheOptions) -> Void
    ) -> Cache {
        var options = TieredCacheOptions(clock: clock)
        // Wide, so that a busy machine does not take part in the tests.
        options.softTimeout = .seconds(60)
        options.changeTimeout = .seconds(60)
        change(&options)
        return Cache(name: name, remote: tier, codec: .string, options: options)
    }

    /// A cache in which the value of key 1, `"old"`, has expired and may be a fallback.
    func makeCacheOfExpired(_ tier: InProcessTier, softLoadTimeout: Duration) async throws -> Cache {
        let cache = await makeCache(tier) {
            $0.lifetime = .seconds(10)
            $0.keepsExpiredFor = .seconds(100)
            $0.softLoadTimeout = softLoadTimeout
        }
        _ = try await cache.value(forKey: 1) { "old" }
        pass(.seconds(11), tier)
        return cache
    }

    /// Both the clock of the near caches and the server's.
    func pass(_ duration: Duration, _ tiers: InProcessTier...) {
        clock.advance(by: duration)
        for tier in tiers { tier.report(.tick) }
        server.advance(by: duration)
    }

    @Test("A value is loaded once, found remotely by the next process, and near from then on")
    func threeTiers() async throws {
        let (tier, otherTier) = (server.makeTier(), server.makeTier())
        let (here, there) = (await makeCache(tier), await makeCache(otherTier))
        #expect(try await here.value(forKey: 1) { "one" } == "one")
        #expect(here.nearValue(forKey: 1) == "one")
        #expect(there.nearValue(forKey: 1) == nil)
        #expect(try await there.value(forKey: 1) { "not asked" } == "one")
        let operations = otherTier.operationCount
        #expect(try await there.value(forKey: 1) { "not asked" } == "one")
        #expect(otherTier.operationCount == operations)
        #expect((here.statistics.loads, there.statistics.loads, there.statistics.remoteHits) == (1, 0, 1))
        #expect(there.statistics.nearHits == 1)
    }

    @Test("A change in one process is gone near in the other, and read by itself")
    func invalidation() async throws {
        let (here, there) = (await makeCache(server.makeTier()), await makeCache(server.makeTier()))
        _ = try await here.value(forKey: 1) { "old" }
        _ = try await there.value(forKey: 1) { "not asked" }
        try await there.setValue("new", forKey: 1)
        #expect(here.nearValue(forKey: 1) == nil)
        #expect(try await here.value(forKey: 1) == "new")
        #expect(try await there.value(forKey: 1) == "new")
        try await here.removeValue(forKey: 1)
        #expect(try await here.value(forKey: 1) == nil)
        #expect(try await there.value(forKey: 1) == nil)
    }

    @Test("Caches of one name on one tier see each other's changes at once")
    func sharedTier() async throws {
        let tier = server.makeTier()
        let (here, there) = (await makeCache(tier), await makeCache(tier))
        for round in 0..<20 {
            let old = "\(round)"
            _ = try await here.value(forKey: 1) { old }
            #expect(try await there.value(forKey: 1) { "not asked" } == old && there.nearValue(forKey: 1) == old)
            if round % 2 == 0 {
                try await here.setValue("new", forKey: 1)
                #expect(there.nearValue(forKey: 1) == nil)
                #expect(try await there.value(forKey: 1) == "new")
            }
            try await here.removeValue(forKey: 1)
            #expect(there.nearValue(forKey: 1) == nil)
            #expect(try await there.value(forKey: 1) == nil)
        }
    }

    @Test("A load that was overtaken by a change is returned, and stored nowhere")
    func overtakenLoad() async throws {
        let (here, there) = (await makeCache(server.makeTier()), await makeCache(server.makeTier()))
        let (began, gate) = (Gate(), Gate())
        let load = Task {
            try await here.value(forKey: 1) {
                began.open()
                await gate.pass()
                return "old"
            }
        }
        await began.pass()
        try await there.setValue("new", forKey: 1)
        gate.open()
        #expect(try await load.value == "old")
        #expect(here.nearValue(forKey: 1) == nil)
        #expect(try await here.value(forKey: 1) { "not asked" } == "new")
        #expect(here.statistics.refusedFills == 1)
    }

    @Test("Callers of all processes share one load")
    func oneLoad() async throws {
        let caches = await [makeCache(server.makeTier()), makeCache(server.makeTier()), makeCache(server.makeTier())]
        let (loads, gate) = (Counter(), Gate())
        try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<90 {
                group.addTask {
                    try await caches[index % 3].value(forKey: 7) {
                        loads.increment()
                        await gate.pass()
                        return "seven"
                    }
                }
            }
            await yieldUntil { loads.value > 0 }
            await yieldUntil { caches.reduce(0) { $0 + $1.statistics.leaseWaits } >= 2 }
            gate.open()
            for try await value in group { #expect(value == "seven") }
        }
        #expect(loads.value == 1)
    }

    @Test("When the process that loads has died, another one loads after the lease")
    func deadLeader() async throws {
        let tier = server.makeTier()
        let cache = await makeCache(tier)
        let other = server.makeTier()
        let probe = await makeCache(other)
        // The one that dies takes the lease and is not heard of again.
        let stopped = Gate()
        let dead = Task {
            try await probe.value(forKey: 1) {
                await stopped.pass()
                return "late"
            }
        }
        await yieldUntil { probe.statistics.loads == 1 }
        let waiting = Task { try await cache.value(forKey: 1) { "second" } }
        await yieldUntil { cache.statistics.leaseWaits > 0 }
        #expect(cache.statistics.loads == 0)
        pass(.seconds(11), tier, other)
        #expect(try await waiting.value == "second")
        stopped.open()
        #expect(try await dead.value == "late")
        #expect(try await cache.value(forKey: 1) == "second")
    }

    @Test("A load that fails is thrown, and gives the lease back")
    func failedLoad() async throws {
        struct Broken: Error {}
        let (here, there) = (await makeCache(server.makeTier()), await makeCache(server.makeTier()))
        await #expect(throws: Broken.self) { try await here.value(forKey: 1) { throw Broken() } }
        #expect(try await there.value(forKey: 1) { "fine" } == "fine")
        #expect(here.statistics.loadFailures == 1)
    }

    @Test("Cancelling the last caller cancels the load and gives the lease back; others are left alone")
    func cancellation() async throws {
        let (here, there) = (await makeCache(server.makeTier()), await makeCache(server.makeTier()))
        let began = Gate()
        let load = Task {
            try await here.value(forKey: 1) {
                began.open()
                try await Task.sleep(for: .seconds(3600))
                return "never"
            }
        }
        await began.pass()
        load.cancel()
        await #expect(throws: CancellationError.self) { try await load.value }
        #expect(try await there.value(forKey: 1) { "fine" } == "fine")
    }

    @Test("A lost connection ends what is served; a new one begins anew")
    func generations() async throws {
        let (tier, otherTier) = (server.makeTier(), server.makeTier())
        let (here, there) = (await makeCache(tier), await makeCache(otherTier))
        _ = try await here.value(forKey: 1) { "old" }
        tier.disconnect()
        #expect(here.nearValue(forKey: 1) == nil)
        #expect(try await here.value(forKey: 1) { "origin" } == "origin")
        await #expect(throws: RemoteTierError.self) { try await here.setValue("x", forKey: 1) }
        try await there.setValue("new", forKey: 1)
        tier.connect()
        await yieldUntil { here.isCoherent }
        #expect(here.nearValue(forKey: 1) == nil)
        #expect(try await here.value(forKey: 1) { "not asked" } == "new")
    }

    @Test("While disconnected, near values are served for the time that the options name, if they are fresh")
    func servesWhileDisconnected() async throws {
        let tier = server.makeTier()
        let cache = await makeCache(tier) { $0.whileDisconnected = .serveStale(upTo: .seconds(10)) }
        _ = try await cache.value(forKey: 1) { "old" }
        tier.disconnect()
        #expect(try await cache.value(forKey: 1) { "origin" } == "old")
        pass(.seconds(11), tier)
        #expect(try await cache.value(forKey: 1) { "origin" } == "origin")
        #expect(cache.statistics.staleHits == 1)
    }

    @Test("Without proof of life nothing is served, and late proof serves again")
    func liveness() async throws {
        let tier = server.makeTier()
        tier.setAliveFor(.milliseconds(700))
        let cache = await makeCache(tier)
        _ = try await cache.value(forKey: 1) { "one" }
        #expect(cache.nearValue(forKey: 1) == "one")
        pass(.milliseconds(700), tier)
        #expect(cache.nearValue(forKey: 1) == nil)
        tier.report(.alive(for: .milliseconds(700)))
        #expect(cache.nearValue(forKey: 1) == "one")
    }

    @Test("A flush, and a cleared keyspace, are one step for any number of entries")
    func clearing() async throws {
        let (here, there) = (await makeCache(server.makeTier()), await makeCache(server.makeTier()))
        let neighbour = await makeCache(server.makeTier(), name: "neighbour")
        for key in 0..<100 { _ = try await here.value(forKey: key) { "old" } }
        _ = try await neighbour.value(forKey: 1) { "kept" }
        try await there.removeAll()
        await yieldUntil { here.isCoherent && there.isCoherent }
        for key in 0..<100 { #expect(try await here.value(forKey: key) == nil) }
        #expect(neighbour.nearValue(forKey: 1) == "kept")
        _ = try await here.value(forKey: 1) { "newer" }
        server.flush()
        await yieldUntil { here.isCoherent }
        #expect(here.nearValue(forKey: 1) == nil)
        #expect(try await neighbour.value(forKey: 1) { "loaded again" } == "loaded again")
    }

    @Test("Entries of an ended generation leave, some with each tick")
    func endedGenerations() async throws {
        let tier = server.makeTier()
        let cache = await makeCache(tier)
        // More than one shard holds.
        for key in 0..<10_000 { _ = try await cache.value(forKey: key) { "old" } }
        tier.disconnect()
        tier.connect()
        await yieldUntil { cache.isCoherent }
        for key in 9_990..<10_010 { _ = try await cache.value(forKey: key) { "new" } }
        tier.report(.tick)
        #expect(cache.statistics.near.count > 20)
        for _ in 0..<1_000 { tier.report(.tick) }
        #expect(cache.statistics.near.count == 20)
        for key in 9_990..<10_010 { #expect(cache.nearValue(forKey: key) != nil) }
    }

    @Test("Where the epoch cannot be had, lookups ask the origin and wait for nothing")
    func withoutEpoch() async throws {
        let tier = server.makeTier()
        tier.fail(with: .full)
        // Longer than a test may take.
        let cache = makeUnjoinedCache(tier) { $0.softTimeout = .seconds(3600) }
        let value = try await failingWhenStuck("a lookup without an epoch") {
            try await cache.value(forKey: 1) { "origin" }
        }
        #expect(value == "origin")
        #expect(!cache.isCoherent)
        tier.fail(with: nil)
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "stored" } == "stored")
        #expect(cache.nearValue(forKey: 1) == "stored")
    }

    @Test("A process that was stopped notices with its first miss, before its tier tells the time")
    func stoppedProcess() async throws {
        let tier = server.makeTier()
        tier.setAliveFor(.milliseconds(700))
        let cache = await makeCache(tier)
        _ = try await cache.value(forKey: 1) { "one" }
        clock.advance(by: .seconds(2))
        _ = try await cache.value(forKey: 2) { "two" }
        #expect(cache.nearValue(forKey: 1) == nil)
    }

    @Test("A report of an unchanged epoch interrupts, and forgets nothing")
    func forgottenEpoch() async throws {
        let tier = server.makeTier()
        let cache = await makeCache(tier)
        _ = try await cache.value(forKey: 1) { "one" }
        tier.report(.invalidated(["cache:v1"]))
        await yieldUntil { cache.isCoherent }
        #expect(cache.nearValue(forKey: 1) == "one")
    }

    @Test("Lifetimes end near, and remotely")
    func lifetimes() async throws {
        let tier = server.makeTier()
        let cache = await makeCache(tier) { $0.lifetime = .seconds(10) }
        _ = try await cache.value(forKey: 1) { "one" }
        try await cache.setValue("two", forKey: 2, expiresAfter: .seconds(1))
        #expect(try await cache.value(forKey: 2) == "two")
        // The near clock alone: the server is late with its report.
        clock.advance(by: .seconds(1))
        tier.report(.tick)
        #expect(cache.nearValue(forKey: 2) == nil)
        #expect(cache.nearValue(forKey: 1) == "one")
        pass(.seconds(10), tier)
        #expect(try await cache.value(forKey: 1) == nil)
    }

    @Test("What the origin takes is no part of a value's lifetime, and no time of the remote tier")
    func longLoad() async throws {
        let tier = server.makeTier()
        let cache = await makeCache(tier) { $0.lifetime = .seconds(10) }
        let value = try await cache.value(forKey: 1) { [clock] in
            clock.advance(by: .seconds(8))
            return "one"
        }
        #expect(value == "one")
        clock.advance(by: .seconds(5))
        tier.report(.tick)
        #expect(cache.nearValue(forKey: 1) == "one")
    }

    @Test("Bytes that are no value are a miss, counted and overwritten")
    func undecodable() async throws {
        let tier = server.makeTier()
        let numbers = TieredCache<Int, Int64>(name: "cache", remote: tier, codec: TrivialCodec<Int64>())
        let strings = await makeCache(server.makeTier())
        try await strings.setValue("no number", forKey: 1)
        await yieldUntil { numbers.isCoherent }
        #expect(try await numbers.value(forKey: 1) == nil)
        #expect(try await numbers.value(forKey: 1) { 42 } == 42)
        #expect(numbers.nearValue(forKey: 1) == 42)
        #expect(numbers.statistics.undecodable > 0)
    }

    @Test("A value that is too large is returned and not stored; setting it throws")
    func tooLarge() async throws {
        let (here, there) = (
            await makeCache(server.makeTier()) { $0.largestValue = 3 }, await makeCache(server.makeTier())
        )
        #expect(try await here.value(forKey: 1) { "large" } == "large")
        #expect(here.nearValue(forKey: 1) == nil)
        await #expect(throws: RemoteTierError.tooLarge(5)) { try await here.setValue("large", forKey: 1) }
        #expect(try await there.value(forKey: 1) { "other" } == "other")
        #expect(here.statistics.unstorable == 1)
    }
}
