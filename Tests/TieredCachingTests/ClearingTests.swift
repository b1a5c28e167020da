//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization
import Testing
import _CacheTestSupport

@testable import TieredCaching

@Suite("What is cleared, and what an outage repeats", .timeLimit(.minutes(10)))
struct ClearingTests {
    let tests = TieredCacheTests()
    struct Broken: Error {}

    /// A lookup whose load has begun and waits for the gate.
    private func beginLoad(
        _ cache: TieredCacheTests.Cache,
        _ gate: Gate,
        loads value: String
    ) async -> Task<String, any Error> {
        let loads = cache.statistics.loads
        let lookup = Task {
            try await cache.value(forKey: 1) {
                await gate.pass()
                return value
            }
        }
        await yieldUntil { cache.statistics.loads > loads }
        return lookup
    }

    @Test("While there is no connection, one load answers all, however often that is told")
    func oneLoadWhileDown() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier)
        tier.disconnect()
        let gate = Gate()
        var lookups = [await beginLoad(cache, gate, loads: "one")]
        let flight = try #require(cache.core.link.withMachine { $0.flight(of: "1") })
        for count in 2...10 {
            tier.disconnect()
            lookups.append(Task { try await cache.value(forKey: 1) { "another" } })
            await yieldUntil { flight.waiterCount == count || cache.statistics.loads > 1 }
        }
        gate.open()
        for lookup in lookups { #expect(try await lookup.value == "one") }
        #expect(cache.statistics.loads == 1)
    }

    @Test("A clearing that fails has forgotten all near values", arguments: [false, true])
    func failedClearing(isConnected: Bool) async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier) {
            $0.keepsExpiredFor = .seconds(100)
            $0.whileDisconnected = .serveStale(upTo: .seconds(100))
            $0.changeTimeout = .milliseconds(1)
        }
        _ = try await cache.value(forKey: 1) { "old" }
        if !isConnected { tier.disconnect() }
        tier.fail(with: .timedOut)
        await #expect(throws: RemoteTierError.self) { try await cache.removeAll() }
        tier.disconnect()
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
    }

    @Test("Once a clearing is reported nobody shares a load from before, though the new epoch is not read yet")
    func sharedLoad() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier)
        let gate = Gate()
        let old = await beginLoad(cache, gate, loads: "old")
        tier.fail(with: .refused("not now"))
        tier.report(.invalidated([cache.core.link.keyspace.epochKey]))
        let new = try await failingWhenStuck("a lookup after a clearing") {
            try await cache.value(forKey: 1) { "new" }
        }
        #expect(new == "new")
        gate.open()
        _ = try await old.value
    }

    @Test("A load that an outage has left over ends with a clearing by another process")
    func loadLeftOver() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .milliseconds(1))
        let other = await tests.makeCache(tests.server.makeTier())
        for isReported in [true, false] {
            let loads = cache.statistics.loads
            tier.fail(with: .refused("not now"))
            let gate = Gate()
            let value = try await cache.value(forKey: 1) {
                await gate.pass()
                return "late"
            }
            #expect(value == "old" && cache.statistics.loads == loads + 1)
            tier.fail(with: nil)
            if !isReported { tier.disconnect() }
            try await other.removeAll()
            if !isReported { tier.connect() }
            await yieldUntil { cache.isCoherent }
            // With a lease a load is the flight's own; so it fails again.
            tier.fail(with: .refused("not now"))
            let new = try await failingWhenStuck("a lookup after a clearing") {
                try await cache.value(forKey: 1) { "new" }
            }
            #expect(new == "new")
            gate.open()
            tier.fail(with: nil)
            _ = try await cache.value(forKey: 1) { "old" }
            tests.pass(.seconds(11), tier)
        }
    }

    @Test("Once a clearing is reported nothing from before is a fallback, though nobody can read the new epoch")
    func doubtfulEpoch() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier) {
            $0.keepsExpiredFor = .seconds(100)
            $0.whileDisconnected = .serveStale(upTo: .seconds(100))
        }
        _ = try await cache.value(forKey: 1) { "old" }
        tier.fail(with: .refused("not now"))
        tier.report(.invalidated([cache.core.link.keyspace.epochKey]))
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
        tier.disconnect()
        await #expect(throws: Broken.self) { try await cache.value(forKey: 1) { throw Broken() } }
    }

    /// A key whose description leads back to no key.
    private struct OneWayKey: Hashable, Sendable, LosslessStringConvertible {
        let number: Int
        init(_ number: Int) { self.number = number }
        init?(_ description: String) { nil }
        var description: String { "\(number)" }
    }

    @Test("A key that its description does not lead back to is invalidated with all others")
    func oneWayKey() async throws {
        let caches = (0..<2).map { _ in
            TieredCache<OneWayKey, String>(
                name: "cache",
                remote: tests.server.makeTier(),
                codec: .string,
                options: TieredCacheOptions(softTimeout: .seconds(60), changeTimeout: .seconds(60), clock: tests.clock)
            )
        }
        await yieldUntil { caches.allSatisfy(\.isCoherent) }
        _ = try await caches[0].value(forKey: OneWayKey(1)) { "old" }
        #expect(caches[0].nearValue(forKey: OneWayKey(1)) == "old")
        try await caches[1].setValue("new", forKey: OneWayKey(1))
        #expect(caches[0].nearValue(forKey: OneWayKey(1)) == nil)
        #expect(try await caches[0].value(forKey: OneWayKey(1)) { "origin" } == "new")
    }
}
