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

/// Takes the locks of a near cache: a thread that holds one of them already stops here.
private final class LockProbe: Sendable {
    let core = Mutex<NearCore<Int, String>?>(nil)
    let reads = Counter()

    func callAsFunction() {
        guard let core = core.withLock({ $0 }) else { return }
        reads.increment()
        core.link.breaker.report { _ in }
        core.link.machine.withLock { _ in }
    }
}

/// A clock whose reading takes locks, as user code may.
private struct ProbedClock: Clock {
    let clock: ManualClock
    let probe: LockProbe

    var now: ManualClock.Instant {
        probe()
        return clock.now
    }
    var minimumResolution: Duration { clock.minimumResolution }
    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        try await clock.sleep(until: deadline, tolerance: tolerance)
    }
}

@Suite("What lookups do between connections, clocks and callers that leave")
struct SeamTests {
    typealias Cache = TieredCache<Int, String>

    private func cache(_ tier: any RemoteTier, clock: any Clock<Duration>, serveStale: Bool = false) -> Cache {
        var options = TieredCacheOptions(clock: clock)
        options.softTimeout = .seconds(3600)
        options.changeTimeout = .seconds(60)
        if serveStale { options.whileDisconnected = .serveStale(upTo: .seconds(60)) }
        return Cache(name: "cache", remote: tier, codec: .string, options: options)
    }

    @Test("All lookups of a key that began before the connection go on as soon as it is up")
    func lookupsBeforeTheConnection() async throws {
        let tier = ScriptedTier(InProcessServer().makeTier(), isLate: true)
        let cache = cache(tier, clock: ManualClock())
        // The second one shares nothing with the first, and only one of them is filed.
        let lookups = (0..<2).map { _ in Task { try await cache.value(forKey: 1) } }
        await yieldUntil { cache.statistics.near.misses == 2 && cache.link.withMachine { $0.flightCount } == 1 }
        tier.connect()
        for lookup in lookups { #expect(try await lookup.value == nil) }
    }

    @Test("A lookup that all callers have left before it could ask does not ask the origin")
    func leftBeforeTheConnection() async throws {
        let tier = ScriptedTier(InProcessServer().makeTier(), isLate: true)
        let cache = cache(tier, clock: ManualClock())
        let loads = Counter()
        let lookup = Task {
            try await cache.value(forKey: 1) {
                loads.increment()
                return "one"
            }
        }
        await yieldUntil { cache.link.withMachine { $0.flight(of: "1")?.waiterCount } == 1 }
        lookup.cancel()
        await #expect(throws: CancellationError.self) { try await lookup.value }
        await yieldUntil { cache.link.withMachine { $0.flightCount } == 0 }
        #expect(loads.value == 0)
        #expect(cache.statistics.loads == 0)
    }

    @Test("A lease that is refused for a value that is no longer fresh is asked for again")
    func foundTooOld() async throws {
        let old = RemoteValue(bytes: Array("old".utf8), remaining: .zero)
        let acquisitions = Counter()
        let tier = ScriptedTier(InProcessServer().makeTier(), isLate: true) { operation, _ in
            guard case .acquire = operation, acquisitions.increment() == 1 else { return nil }
            return .found(old)
        }
        // At 0: what is left until the end of no lease must not overflow.
        let cache = cache(tier, clock: ManualClock())
        tier.connect()
        #expect(try await cache.value(forKey: 1) { "new" } == "new")
    }

    @Test("The clock of lifetimes, which may be the user's, is read under no lock")
    func clockUnderNoLock() async throws {
        let probe = LockProbe()
        let server = InProcessServer()
        let tier = server.makeTier()
        let cache = cache(tier, clock: ProbedClock(clock: ManualClock(), probe: probe), serveStale: true)
        probe.core.withLock { $0 = cache.core }
        defer { probe.core.withLock { $0 = nil } }
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "one" } == "one")
        tier.fail(with: .timedOut)
        #expect(try await cache.value(forKey: 2) { "two" } == "two")
        tier.disconnect()
        #expect(try await cache.value(forKey: 1) { "not asked" } == "one")
        #expect(probe.reads.value > 0)
    }
}
