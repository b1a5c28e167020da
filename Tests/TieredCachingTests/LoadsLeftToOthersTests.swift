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

@Suite("Loads that callers leave, and loads that are left to others", .timeLimit(.minutes(10)))
struct LoadsLeftToOthersTests {
    struct Broken: Error {}
    let tests = TieredCacheTests()

    @Test("A caller who leaves a load that it took over does not cancel it for the next")
    func takenOver() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .milliseconds(1))
        tier.disconnect()
        let gate = Gate()
        let cancellations = Counter()
        let load = { @Sendable () async throws -> String in
            await gate.pass()
            if Task.isCancelled { cancellations.increment() }
            return "late"
        }
        #expect(try await cache.value(forKey: 1, load: load) == "old")
        // It is beyond its time as a fallback now: whoever takes the load over waits for its end.
        tests.pass(.seconds(111))
        let underWay = try #require(cache.core.link.loadsUnderWay["1"])
        let leaving = Task { try await cache.value(forKey: 1) { "not asked" } }
        let staying = Task { try await cache.value(forKey: 1) { "not asked" } }
        await yieldUntil { cache.core.link.withMachine { $0.flight(of: "1") }?.waiterCount == 2 }
        await yieldUntil { underWay.waiterCount == 1 }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        staying.cancel()
        await #expect(throws: CancellationError.self) { try await staying.value }
        await yieldUntil { cache.core.link.withMachine { $0.flightCount } == 0 }
        let last = Task { try await cache.value(forKey: 1) { "not asked" } }
        await yieldUntil { underWay.waiterCount == 1 }
        gate.open()
        #expect(try await last.value == "late")
        #expect(cancellations.value == 0)
        #expect(cache.statistics.loads == 2)
    }

    @Test("The last caller who leaves cancels the load, also where there is a fallback, and gets none")
    func lastCaller() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .seconds(3600))
        let begun = Gate()
        let caller = Task {
            try await cache.value(forKey: 1) {
                begun.open()
                while !Task.isCancelled { await Task.yield() }
                throw Broken()
            }
        }
        await begun.pass()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        await yieldUntil { cache.core.link.withMachine { $0.flightCount } == 0 }
        #expect(cache.statistics.staleHits == 0)
        #expect(cache.statistics.loadFailures == 1)
    }

    @Test("A load that fails after the fallback has answered counts as a failure")
    func failsLate() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .milliseconds(1))
        tier.disconnect()
        let gate = Gate()
        let answer = try await cache.value(forKey: 1) {
            await gate.pass()
            throw Broken()
        }
        #expect(answer == "old")
        #expect(cache.statistics.loadFailures == 0)
        gate.open()
        await yieldUntil { cache.statistics.loadFailures == 1 }
    }

    @Test("A lease whose holder has lost the connection is given back when that is there again")
    func lostWithTheLease() async throws {
        let tier = tests.server.makeTier()
        let (cache, other) = (await tests.makeCache(tier), await tests.makeCache(tests.server.makeTier()))
        let gate = Gate()
        let load = Task {
            try await cache.value(forKey: 1) {
                await gate.pass()
                return "late"
            }
        }
        await yieldUntil { cache.statistics.loads == 1 }
        tier.disconnect()
        gate.open()
        #expect(try await load.value == "late")
        tier.connect()
        // The server's time stands still, and its lease would never end.
        let next = try await failingWhenStuck("a lookup after the lease") {
            try await other.value(forKey: 1) { "new" }
        }
        #expect(next == "new")
    }
}
