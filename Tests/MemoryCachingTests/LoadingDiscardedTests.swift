//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What is stored first may be there without its content when the next one is to be stored. Such an entry is none, but
/// no lookup had come by to remove it: whoever stored tried again for ever.
@Suite("Loading over content that has been discarded", .timeLimit(.minutes(10)))
struct LoadingDiscardedTests {
    private let cache = MemoryCache<Int, Page>()

    /// Stores a page for `key` as another thread might, and discards its content.
    private static func storeAndDiscard(_ key: Int, in cache: MemoryCache<Int, Page>) {
        cache.value(forKey: key) { Page() }.discardContentIfPossible()
    }

    private func expectStored(_ page: Page, forKey key: Int) {
        #expect(!page.isContentDiscarded && cache.peekValue(forKey: key) === page)
        let statistics = cache.statistics
        #expect(statistics.removalCounts[.discarded] == 1 && statistics.count == 1)
    }

    @Test("Get or set")
    func getOrSet() {
        let page = cache.value(forKey: 1) {
            Self.storeAndDiscard(1, in: cache)
            return Page()
        }
        expectStored(page, forKey: 1)
    }

    @Test("A load, and one of many keys")
    func loads() async {
        let cache = self.cache
        let page = await cache.value(forKey: 1) { () async -> Page in
            Self.storeAndDiscard(1, in: cache)
            return Page()
        }
        expectStored(page, forKey: 1)
        cache.removeAll()
        let pages = await cache.values(forKeys: [2, 3]) { keys in
            Self.storeAndDiscard(2, in: cache)
            return [2: Page(), 3: Page()]
        }
        #expect(cache.peekValue(forKey: 2) === pages[2] && cache.peekValue(forKey: 3) === pages[3])
    }

    @Test("Bytes that the kernel has taken")
    func purgedBytes() {
        let cache = PurgeableCache<Int>(options: .init(evictsUnderMemoryPressure: false))
        var random = SplitMix64(seed: 1)
        let bytes = cache.bytes(forKey: -1) {
            _ = cache.bytes(forKey: -1) { [UInt8](repeating: 1, count: 1000) }
            // Until its segment is sealed.
            for key in 0..<10_000 { cache.setBytes([UInt8](repeating: 2, count: 1000), forKey: key) }
            #expect(cache.store.log.loseSealedPages(percent: 100, using: &random) > 0)
            return [3, 4, 5]
        }
        #expect(bytes == [3, 4, 5] && cache.bytes(forKey: -1) == [3, 4, 5])
        #expect(cache.statistics.removalCounts[.discarded] > 0)
    }
}
