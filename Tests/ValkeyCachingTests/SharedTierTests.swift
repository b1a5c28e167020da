//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import MemoryCaching
import Testing
import TieredCaching
import ValkeyCaching
import _CacheTestSupport

extension ServerTests {
    /// Several caches of one name on one tier of a process.
    @Suite("Caches that share a tier", .serialized)
    struct SharedTierTests {
        /// The server's report of a change comes behind its reply, and was all that the other caches heard of it: a
        /// thread that reads them after the call could be faster.
        @Test("A change is seen by all when its call returns", arguments: TestServer.Kind.installed)
        func changes(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            let here = try await Member(server)
            var options = TieredCacheOptions()
            options.softTimeout = .seconds(30)
            options.changeTimeout = .seconds(30)
            let there = Cache(name: "cache", remote: here.tier, codec: .string, options: options)
            await yieldUntil { there.isCoherent }
            var nearHits = 0
            for round in 0..<500 {
                let old = "old \(round)"
                try await here.cache.setValue(old, forKey: 1)
                let found = try await there.value(forKey: 1)
                #expect(found == old)
                if there.nearValue(forKey: 1) == old { nearHits += 1 }
                if round % 2 == 0 {
                    try await here.cache.setValue("new", forKey: 1)
                    #expect([nil, "new"].contains(there.nearValue(forKey: 1)))
                } else {
                    try await here.cache.removeValue(forKey: 1)
                    #expect(there.nearValue(forKey: 1) == nil)
                }
            }
            // Reports of changes may keep some values from staying near.
            #expect(nearHits > 0)
            await here.tier.shutDown()
        }
    }
}
#endif
