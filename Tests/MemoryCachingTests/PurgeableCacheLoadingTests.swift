//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("PurgeableCache: loading by a closure that never suspends", .timeLimit(.minutes(10)))
struct PurgeableCacheLoadingTests {
    @Test("It is a load like any other: shared by callers, counted, and not made again")
    func isLoad() async {
        let cache = PurgeableCache<String>()
        let calls = Counter()
        for _ in 0..<2 {
            let bytes = await cache.bytes(forKey: "a") {
                calls.increment()
                return [1, 2, 3]
            }
            #expect(bytes == [1, 2, 3])
        }
        #expect(calls.value == 1)
        #expect(cache.peekBytes(forKey: "a") == [1, 2, 3])
        // The closure of `bytes(forKey:orSet:)`, for which it could be taken, makes no load.
        #expect(cache.statistics.loads == 1 && cache.statistics.hits == 1)
    }

    @Test("What it throws reaches the caller and leaves nothing behind")
    func failure() async {
        enum Trouble: Error { case now }
        let cache = PurgeableCache<String>()
        await #expect(throws: Trouble.now) {
            try await cache.bytes(forKey: "a") { () throws(Trouble) -> [UInt8] in throw .now }
        }
        #expect(!cache.contains("a"))
        #expect(cache.statistics.loadFailures == 1)
    }

    @Test("In the stale window a hit is answered at once, and refreshed behind it")
    func staleWindow() async {
        let clock = ManualClock()
        let cache = PurgeableCache<String>(
            options: .init(expiresAfter: .seconds(100), staleWindow: .seconds(40), clock: clock)
        )
        cache.setBytes([1], forKey: "a")
        clock.advance(by: .seconds(70))
        #expect(await cache.bytes(forKey: "a") { [2] } == [1])
        await yieldUntil { cache.peekBytes(forKey: "a") == [2] }
        #expect(cache.statistics.loads == 1)
    }
}
