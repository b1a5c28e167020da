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

@Suite("Lookups and changes that wait for a connection", .timeLimit(.minutes(10)))
struct WaitingTests {
    typealias Cache = TieredCache<Int, String>

    private let tier = ScriptedTier(InProcessServer().makeTier(), isLate: true)

    private func makeCache(_ change: (inout TieredCacheOptions) -> Void = { _ in }) -> Cache {
        // A clock that stands still: no time of the cache's own ends a wait here.
        var options = TieredCacheOptions(clock: ManualClock())
        options.softTimeout = .seconds(3600)
        options.changeTimeout = .seconds(3600)
        change(&options)
        return Cache(name: "cache", remote: tier, codec: .string, options: options)
    }

    @Test("All go on when the connection is up, lookups that nobody shares too, and nobody is left waiting")
    func connected() async throws {
        let cache = makeCache()
        let lookups = (0..<3).map { _ in Task { try await cache.value(forKey: 1) } }
        let changes = (0..<3).map { key in Task { try await cache.setValue("new", forKey: 10 + key) } }
        await yieldUntil { cache.link.linkChange.waiterCount == 6 }
        tier.connect()
        for lookup in lookups { #expect(try await lookup.value == nil) }
        for change in changes { try await change.value }
        #expect(cache.link.linkChange.waiterCount == 0)
    }

    @Test("A connection that cannot be made ends the wait: a lookup loads, a change throws")
    func lost() async throws {
        let cache = makeCache()
        let lookup = Task { try await cache.value(forKey: 1) { "loaded" } }
        let change = Task { try await cache.setValue("new", forKey: 2) }
        await yieldUntil { cache.link.linkChange.waiterCount == 2 }
        tier.tell(.lost)
        #expect(try await lookup.value == "loaded")
        await #expect(throws: RemoteTierError.disconnected) { try await change.value }
        #expect(cache.link.linkChange.waiterCount == 0)
    }

    @Test("A caller who is cancelled waits no longer, and leaves nothing behind")
    func cancelled() async throws {
        let cache = makeCache()
        let change = Task { try await cache.setValue("new", forKey: 1) }
        let lookup = Task { try await cache.value(forKey: 2) { "loaded" } }
        await yieldUntil { cache.link.linkChange.waiterCount == 2 }
        change.cancel()
        lookup.cancel()
        await #expect(throws: RemoteTierError.disconnected) { try await change.value }
        await #expect(throws: CancellationError.self) { try await lookup.value }
        // The course of the lookup ends by itself, after its callers.
        await yieldUntil { cache.link.linkChange.waiterCount == 0 }
    }

    @Test("The time of a wait ends it, though the clock of lifetimes stands still")
    func late() async throws {
        let cache = makeCache {
            $0.softTimeout = .milliseconds(1)
            $0.changeTimeout = .milliseconds(1)
        }
        #expect(try await cache.value(forKey: 1) { "loaded" } == "loaded")
        await #expect(throws: RemoteTierError.disconnected) { try await cache.setValue("new", forKey: 1) }
        #expect(cache.link.linkChange.waiterCount == 0)
    }
}
