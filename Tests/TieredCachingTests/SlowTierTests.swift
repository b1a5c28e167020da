//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import TieredCaching

@Suite("Slow tiers, and keys that are equal as texts", .timeLimit(.minutes(10)))
struct SlowTierTests {
    @Test("Each operation of a lookup may take as long as the soft timeout says, whatever the others have taken")
    func storing() async throws {
        let clock = ManualClock()
        let tier = ScriptedTier(InProcessServer().makeTier()) { _, _ in
            clock.advance(by: .milliseconds(99))
            return nil
        }
        let options = TieredCacheOptions(softTimeout: .milliseconds(100), clock: clock)
        let cache = TieredCache<Int, String>(name: "cache", remote: tier, codec: .string, options: options)
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "one" } == "one")
        #expect(tier.limits == Array(repeating: .milliseconds(100), count: 3))
        #expect(cache.nearValue(forKey: 1) == "one")
        // Whoever dies while it writes the epoch keeps others out for no longer than that.
        #expect(tier.leaseTimes == [.milliseconds(500), options.leaseTime])
    }

    @Test("Where the process that was to write the epoch is dead, lookups go on without it, and it is written again")
    func deadWriter() async throws {
        let server = InProcessServer()
        let dead = server.makeTier()
        let terms = LeaseTerms(token: LeaseToken(), duration: .milliseconds(500))
        #expect(try await dead.acquire("cache:v1", terms, within: .seconds(60)) == .granted(stale: nil))
        // Longer than a test may take.
        let options = TieredCacheOptions(softTimeout: .seconds(3600))
        let cache = TieredCache<Int, String>(name: "cache", remote: server.makeTier(), codec: .string, options: options)
        let value = try await failingWhenStuck("a lookup without an epoch") {
            try await cache.value(forKey: 1) { "origin" }
        }
        #expect(value == "origin")
        #expect(!cache.isCoherent)
        server.advance(by: .milliseconds(500))
        await yieldUntil { cache.isCoherent }
    }

    @Test("A change that arrives when the keyspace has been cleared is made in the new one", arguments: [true, false])
    func clearedMeanwhile(isRemoval: Bool) async throws {
        let server = InProcessServer()
        let options = TieredCacheOptions(softTimeout: .seconds(60), changeTimeout: .seconds(60))
        func makeCache(_ tier: any RemoteTier) -> TieredCache<Int, String> {
            TieredCache(name: "cache", remote: tier, codec: .string, options: options)
        }
        let there = makeCache(server.makeTier())
        let changes = Counter()
        let tier = ScriptedTier(server.makeTier()) { operation, _ in
            switch operation {
            case .write, .remove: if changes.increment() > 1 { return nil }
            default: return nil
            }
            try await there.removeAll()
            await yieldUntil { there.isCoherent }
            // Loaded before the origin was changed.
            #expect(try await there.value(forKey: 1) { "old" } == "old")
            return nil
        }
        let here = makeCache(tier)
        await yieldUntil { here.isCoherent && there.isCoherent }
        if isRemoval { try await here.removeValue(forKey: 1) } else { try await here.setValue("new", forKey: 1) }
        #expect(there.nearValue(forKey: 1) == nil)
        #expect(try await here.value(forKey: 1) { "new" } == "new")
        #expect(try await there.value(forKey: 1) == "new")
    }

    @Test("A lookup whose key is reported while it asks for the lease waits for the other's value, and keeps it")
    func reportedWhileAsking() async throws {
        let server = InProcessServer()
        let (holder, acquisitions, token) = (server.makeTier(), Counter(), LeaseToken())
        let terms = LeaseTerms(token: token, duration: .seconds(60))
        let tier = ScriptedTier(server.makeTier()) { operation, key in
            guard case .acquire = operation, acquisitions.increment() == 1 else { return nil }
            // Reported, because the key has been read.
            let answer = try await holder.acquire(key, terms, within: .seconds(60))
            #expect(answer == .granted(stale: nil))
            return nil
        }
        let options = TieredCacheOptions(softTimeout: .seconds(60))
        let cache = TieredCache<Int, String>(name: "cache", remote: tier, codec: .string, options: options)
        await yieldUntil { cache.isCoherent }
        let lookup = Task { try await cache.value(forKey: 1) { "not asked" } }
        await yieldUntil { cache.core.link.withMachine { $0.flight(of: "1") }?.wake?.isAwaited ?? false }
        let prefix = try #require(cache.core.link.withMachine { $0.prefix })
        let isStored = try await holder.fill(
            Keyspace.remoteKey("1", prefix: prefix),
            with: Array("made".utf8),
            lifetime: .seconds(60),
            lease: token,
            within: .seconds(60)
        )
        #expect(isStored)
        #expect(try await lookup.value == "made")
        #expect(cache.nearValue(forKey: 1) == "made")
    }

    @Test("Keys that differ share nothing, though their descriptions are equal as texts")
    func equalTexts() async throws {
        let (ring, angstrom): (Unicode.Scalar, Unicode.Scalar) = ("\u{C5}", "\u{212B}")
        let server = InProcessServer()
        var options = TieredCacheOptions()
        options.softTimeout = .seconds(60)
        let cache = TieredCache<Unicode.Scalar, String>(
            name: "cache",
            remote: server.makeTier(),
            codec: .string,
            options: options
        )
        await yieldUntil { cache.isCoherent }
        let gate = Gate()
        let first = Task {
            try await cache.value(forKey: ring) {
                await gate.pass()
                return "ring"
            }
        }
        await yieldUntil { cache.statistics.loads == 1 }
        #expect(try await cache.value(forKey: angstrom) { "angstrom" } == "angstrom")
        gate.open()
        #expect(try await first.value == "ring")
        try await cache.removeValue(forKey: ring)
        #expect(try await cache.value(forKey: angstrom) == "angstrom")
        #expect(try await cache.value(forKey: ring) == nil)
    }

    @Test("When time passes in a server in the process, near caches look at their clocks")
    func ticks() async throws {
        let tests = TieredCacheTests()
        let cache = await tests.makeCache(tests.server.makeTier()) {
            $0.lifetime = .seconds(10)
            $0.keepsExpiredFor = .seconds(100)
        }
        _ = try await cache.value(forKey: 1) { "old" }
        tests.clock.advance(by: .seconds(11))
        tests.server.advance(by: .seconds(11))
        #expect(cache.nearValue(forKey: 1) == nil)
    }
}
