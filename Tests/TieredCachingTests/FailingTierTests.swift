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

@Suite("A remote tier that fails, refuses or is cleared")
struct FailingTierTests {
    let tests = TieredCacheTests()

    final class Found: Sendable { let value = Atomic(false) }

    @Test("While the remote tier is down, a slow origin is asked once for all who get the fallback")
    func slowOrigin() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .milliseconds(1))
        tier.disconnect()
        let gate = Gate()
        for _ in 0..<20 {
            let value = try await cache.value(forKey: 1) {
                await gate.pass()
                return "late"
            }
            #expect(value == "old")
        }
        #expect(cache.statistics.loads == 2)
        // What was begun before a change answers nobody after it.
        await #expect(throws: RemoteTierError.disconnected) { try await cache.removeValue(forKey: 1) }
        #expect(try await cache.value(forKey: 1) { "new" } == "new")
        #expect(cache.statistics.loads == 3)
        gate.open()
    }

    @Test("A slow load that has ended is not shared any more")
    func endedLoad() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .milliseconds(1))
        tier.disconnect()
        let gate = Gate()
        let load = { @Sendable () async -> String in
            await gate.pass()
            return "late"
        }
        #expect(try await cache.value(forKey: 1, load: load) == "old")
        gate.open()
        try await failingWhenStuck("a load after the one that has ended") {
            while cache.statistics.loads == 2 { _ = try await cache.value(forKey: 1) { "new" } }
        }
    }

    @Test("The longest soft timeout of a load waits for the load")
    func longestWait() async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .seconds(Int64.max))
        let (began, gate) = (Gate(), Gate())
        let lookup = Task {
            try await cache.value(forKey: 1) {
                began.open()
                await gate.pass()
                return "new"
            }
        }
        await began.pass()
        gate.open()
        #expect(try await lookup.value == "new")
    }

    @Test("The longest limit of a wait is a limit")
    func longestLimit() async {
        let (signal, found) = (ChangeSignal(), Found())
        let waiting = await withTaskGroup(of: Int?.self) { group in
            group.addTask {
                await signal.first(within: .seconds(Int64.max)) { found.value.load(ordering: .acquiring) ? 1 : nil }
            }
            await yieldUntil { signal.waiterCount == 1 }
            found.value.store(true, ordering: .releasing)
            signal.signal()
            return await group.next() ?? nil
        }
        #expect(waiting == 1)
    }

    @Test("A lookup that asks the remote tier alone says what that has answered")
    func reason() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier)
        tier.fail(with: .refused("NOPERM"))
        await #expect(throws: RemoteTierError.refused("NOPERM")) { try await cache.value(forKey: 1) }
        await #expect(throws: RemoteTierError.refused("NOPERM")) { try await cache.removeAll() }
        #expect(cache.statistics.remoteFailures == 2)
        tier.disconnect()
        await #expect(throws: RemoteTierError.disconnected) { try await cache.removeAll() }
        #expect(cache.statistics.remoteFailures == 3)
    }

    @Test("What is too large is no failure of the remote tier")
    func tooLarge() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier)
        tier.fail(with: .tooLarge(9))
        #expect(try await cache.value(forKey: 1) { "large" } == "large")
        await #expect(throws: RemoteTierError.tooLarge(9)) { try await cache.setValue("large", forKey: 1) }
        #expect(cache.statistics.unstorable == 2)
        #expect(cache.statistics.remoteFailures == 0)
        // Nor is it an answer: four failures before it and one behind it are five in a row.
        for _ in 0..<4 { cache.core.link.noteFailure(RemoteTierError.timedOut) }
        await #expect(throws: RemoteTierError.tooLarge(9)) { try await cache.setValue("large", forKey: 1) }
        cache.core.link.noteFailure(RemoteTierError.timedOut)
        #expect(cache.core.link.breaker.report { $0.state } != .closed(failures: 0))
        tier.fail(with: nil)
        await #expect(throws: RemoteTierError.disconnected) { try await cache.value(forKey: 1) }
    }

    @Test("A cache that is gone leaves nothing behind, also where it could never join", arguments: [true, false])
    func gone(canJoin: Bool) async throws {
        let tier = tests.server.makeTier()
        if !canJoin { tier.fail(with: .refused("NOPERM")) }
        weak var core: AnyObject?
        do {
            let cache = tests.makeUnjoinedCache(tier) { _ in }
            await yieldUntil { canJoin ? cache.isCoherent : cache.core.link.machine.withLock { $0.link == .joining } }
            core = cache.core
        }
        await yieldUntil { core == nil }
    }

    @Test("What another process has cleared leaves the near cache, and is counted")
    func clearedElsewhere() async throws {
        let tier = tests.server.makeTier()
        let (here, there) = (await tests.makeCache(tier), await tests.makeCache(tests.server.makeTier()))
        for key in 0..<300 { _ = try await here.value(forKey: key) { "old" } }
        #expect(here.statistics.near.count == 300)
        try await there.removeAll()
        await yieldUntil {
            tier.report(.tick)
            return here.statistics.near.count == 0
        }
        #expect(here.statistics.generations == 2)
        await yieldUntil { here.isCoherent }
        #expect(try await here.value(forKey: 1) { "new" } == "new")
    }

    @Test("While disconnected, a lookup without a load serves what one with a load serves")
    func disconnectedLookup() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier) { $0.whileDisconnected = .serveStale(upTo: .seconds(60)) }
        _ = try await cache.value(forKey: 1) { "one" }
        tier.disconnect()
        #expect(try await cache.value(forKey: 1) == "one")
        #expect(cache.statistics.staleHits == 1)
        await #expect(throws: RemoteTierError.disconnected) { try await cache.value(forKey: 2) }
    }
}
