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

@Suite("A server that is down at the start", .timeLimit(.minutes(10)))
struct StartingTests {
    @Test("One load answers all callers of a key, also those who come when the first attempt to connect has failed")
    func oneLoad() async throws {
        let tier = ScriptedTier(InProcessServer().makeTier(), isLate: true)
        let options = TieredCacheOptions(softTimeout: .milliseconds(1))
        let cache = TieredCache<Int, String>(name: "cache", remote: tier, codec: .string, options: options)
        let gate = Gate()
        let load = { @Sendable () async throws -> String in
            await gate.pass()
            return "origin"
        }
        let first = Task { try await cache.value(forKey: 1, load: load) }
        await yieldUntil { cache.statistics.loads == 1 }
        tier.tell(.lost)
        let second = Task { try await cache.value(forKey: 1, load: load) }
        await yieldUntil {
            cache.core.link.withMachine { $0.flight(of: "1") }?.waiterCount == 2 || cache.statistics.loads == 2
        }
        tier.tell(.lost)
        #expect(cache.statistics.loads == 1)
        // What has begun before there was a connection is shared by nobody from then on, and kept nowhere.
        tier.connect()
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "current" } == "current")
        gate.open()
        #expect(try await first.value == "origin")
        #expect(try await second.value == "origin")
        #expect(cache.nearValue(forKey: 1) == "current")
        #expect(cache.statistics.loads == 2)
    }

    @Test(
        "A change under an epoch that this cache cannot read is a change: what was begun before answers nobody after it"
    )
    func unreadableEpoch() async throws {
        let tier = ScriptedTier(InProcessServer().makeTier(), isLate: true, refusesOthers: true)
        let options = TieredCacheOptions(softTimeout: .milliseconds(1))
        let cache = TieredCache<Int, String>(name: "cache", remote: tier, codec: .string, options: options)
        tier.tell(.connected(aliveFor: .seconds(3600)))
        let gate = Gate()
        let first = Task {
            try await cache.value(forKey: 1) {
                await gate.pass()
                return "old"
            }
        }
        await yieldUntil { cache.statistics.loads == 1 }
        let epochKey = cache.core.link.keyspace.epochKey
        // Keys of others, and what is no key of an epoch.
        let others = ["\(epochKey):1", "\(epochKey):No:1", "other:v0:abc:1", "\(epochKey):abc:2", "\(epochKey)abc:1"]
        tier.tell(.invalidated(others))
        #expect(cache.core.link.withMachine { $0.flight(of: "1") } != nil)
        tier.tell(.invalidated(["\(epochKey):abc:1"]))
        let second = try await failingWhenStuck("a lookup that began after the change") { () async throws in
            try await cache.value(forKey: 1) { "new" }
        }
        #expect(second == "new")
        gate.open()
        #expect(try await first.value == "old")
        #expect(cache.statistics.loads == 2)
    }

    @Test("Only a connection that was there has told of changes, so that its loss revokes what has begun")
    func revoking() {
        var near = NearMachine<Int>()
        _ = near.file(1, forKey: "k")
        _ = near.beginLoad(1, forKey: "k")
        _ = near.file(2, forKey: "waiting")
        let first = near.lost(now: 0)
        #expect(first.revoked.isEmpty && first.woken == [2] && first.hasNewLink && near.flight(of: "k") == 1)
        let connected = near.connected(now: 0, aliveFor: .max)
        _ = near.file(3, forKey: "k")
        _ = near.beginLoad(3, forKey: "k")
        let second = near.lost(now: 0)
        #expect(connected.revoked == [1] && second.revoked == [3] && near.flight(of: "k") == nil)
    }
}
