//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import TieredCaching

/// A tier each of whose answers about the key 1 takes a while, by the clock of the test.
private final class SlowTier: RemoteTier {
    let inner: InProcessTier
    let pass: @Sendable () -> Void
    /// How long each operation was allowed to take.
    let limits = Mutex<[Duration]>([])
    /// How long the leases stand that were asked for, of the epoch and of the key.
    let leaseTimes = Mutex<[Duration]>([])
    /// What happens between the sending of the next change and its arrival.
    let beforeChange = Mutex<(@Sendable () async throws -> Void)?>(nil)

    init(_ inner: InProcessTier, pass: @escaping @Sendable () -> Void) {
        self.inner = inner
        self.pass = pass
    }

    private func note(_ key: String, _ limit: Duration) {
        guard key.hasSuffix(":1") else { return }
        limits.withLock { $0.append(limit) }
        pass()
    }

    func subscribe(_ subscriber: any RemoteTierSubscriber) { inner.subscribe(subscriber) }

    func read(_ key: String, within limit: Duration) async throws -> RemoteValue? {
        note(key, limit)
        return try await inner.read(key, within: limit)
    }

    func acquire(_ key: String, _ terms: LeaseTerms, within limit: Duration) async throws -> LeaseAnswer {
        note(key, limit)
        leaseTimes.withLock { $0.append(terms.duration) }
        return try await inner.acquire(key, terms, within: limit)
    }

    func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool {
        note(key, limit)
        return try await inner.fill(key, with: bytes, lifetime: lifetime, lease: lease, within: limit)
    }

    func release(_ key: String, lease: LeaseToken, within limit: Duration) async throws {
        try await inner.release(key, lease: lease, within: limit)
    }

    func write(_ key: String, _ bytes: [UInt8], lifetime: Duration, within limit: Duration) async throws {
        if key.hasSuffix(":1") { try await beforeChange.withLock { $0.take() }?() }
        try await inner.write(key, bytes, lifetime: lifetime, within: limit)
    }

    func remove(_ key: String, within limit: Duration) async throws {
        if key.hasSuffix(":1") { try await beforeChange.withLock { $0.take() }?() }
        try await inner.remove(key, within: limit)
    }
}

@Suite("Slow tiers, and keys that are equal as texts", .timeLimit(.minutes(10)))
struct SlowTierTests {
    @Test("Each operation of a lookup may take as long as the soft timeout says, whatever the others have taken")
    func storing() async throws {
        let clock = ManualClock()
        let tier = SlowTier(InProcessServer().makeTier()) { clock.advance(by: .milliseconds(99)) }
        let options = TieredCacheOptions(softTimeout: .milliseconds(100), clock: clock)
        let cache = TieredCache<Int, String>(name: "cache", remote: tier, codec: .string, options: options)
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "one" } == "one")
        #expect(tier.limits.withLock { $0 } == Array(repeating: .milliseconds(100), count: 3))
        #expect(cache.nearValue(forKey: 1) == "one")
        // Whoever dies while it writes the epoch keeps others out for no longer than that.
        #expect(tier.leaseTimes.withLock { $0 } == [.milliseconds(500), options.leaseTime])
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
        let tier = SlowTier(server.makeTier()) {}
        let options = TieredCacheOptions(softTimeout: .seconds(60), changeTimeout: .seconds(60))
        func makeCache(_ tier: any RemoteTier) -> TieredCache<Int, String> {
            TieredCache(name: "cache", remote: tier, codec: .string, options: options)
        }
        let (here, there) = (makeCache(tier), makeCache(server.makeTier()))
        await yieldUntil { here.isCoherent && there.isCoherent }
        tier.beforeChange.withLock {
            $0 = {
                try await there.removeAll()
                await yieldUntil { there.isCoherent }
                // Loaded before the origin was changed.
                #expect(try await there.value(forKey: 1) { "old" } == "old")
            }
        }
        if isRemoval { try await here.removeValue(forKey: 1) } else { try await here.setValue("new", forKey: 1) }
        #expect(there.nearValue(forKey: 1) == nil)
        #expect(try await here.value(forKey: 1) { "new" } == "new")
        #expect(try await there.value(forKey: 1) == "new")
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
