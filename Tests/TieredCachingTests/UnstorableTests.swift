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

@Suite("Values that a tiered cache cannot store")
struct UnstorableTests {
    struct Broken: Error {}
    let tests = TieredCacheTests()

    /// Encodes nothing but `"fine"`.
    struct Choosy: CacheCodec {
        func encode(_ value: String) throws -> [UInt8] {
            guard value == "fine" else { throw Broken() }
            return Array(value.utf8)
        }

        func decode(_ bytes: RawSpan) throws -> String { "fine" }
    }

    @Test("A value that cannot be encoded is returned and counted, and the next lookup loads")
    func notEncodable() async throws {
        let (tier, otherTier) = (tests.server.makeTier(), tests.server.makeTier())
        let cache = TieredCache<Int, String>(name: "cache", remote: tier, codec: Choosy())
        let other = await tests.makeCache(otherTier)
        await yieldUntil { cache.isCoherent }
        #expect(try await cache.value(forKey: 1) { "broken" } == "broken")
        let next = try await failingWhenStuck("the lookup after a value that cannot be encoded") {
            try await other.value(forKey: 1) { "other" }
        }
        #expect(next == "other")
        #expect(cache.nearValue(forKey: 1) == nil)
        #expect(cache.statistics.unstorable == 1)
    }

    @Test("A value that cannot be set takes the near value away all the same", arguments: ["broken", "fine"])
    func setting(_ value: String) async throws {
        let tier = tests.server.makeTier()
        let options = TieredCacheOptions(largestValue: value == "fine" ? 3 : 8)
        let near = TieredCache<Int, String>(name: "cache", remote: tier, codec: Choosy(), options: options)
        let other = await tests.makeCache(tests.server.makeTier())
        await yieldUntil { near.isCoherent }
        try await other.setValue("fine", forKey: 1)
        #expect(try await near.value(forKey: 1) == "fine")
        #expect(near.nearValue(forKey: 1) == "fine")
        await #expect(throws: (any Error).self) { try await near.setValue(value, forKey: 1) }
        #expect(near.nearValue(forKey: 1) == nil)
    }

    @Test("A fill that did not store gives the lease back", arguments: [false, true])
    func release(isStored: Bool) {
        var miss = MissMachine<Int>()
        _ = miss.next(.absent)
        _ = miss.next(.granted(stale: nil))
        _ = miss.next(.loaded(1))
        let releases = miss.next(.filled(isStored)).contains { if case .release = $0 { true } else { false } }
        #expect(releases == !isStored)
    }

    @Test("A remote tier that refuses has not failed: it is asked for other keys")
    func refusals() async throws {
        let tier = tests.server.makeTier()
        let cache = await tests.makeCache(tier)
        try await cache.setValue("one", forKey: 1)
        tier.fail(with: .refused("not this value"))
        for _ in 0..<10 { await #expect(throws: RemoteTierError.self) { try await cache.setValue("x", forKey: 2) } }
        tier.fail(with: nil)
        #expect(try await cache.value(forKey: 1) == "one")
        #expect(cache.statistics.remoteSkips == 0)
    }
}
