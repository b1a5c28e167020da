//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Lists of keys that others remove and set again meanwhile: these may come to a slot that the list has still to come
/// by, and 1 list of 200 named a key twice.
@Suite struct PurgeableCacheListingTests {
    private func expectKeysOnce<Key: Hashable & Sendable>(_ key: @escaping @Sendable (Int) -> Key) {
        let cache = PurgeableCache<Key>(options: .init(evictsUnderMemoryPressure: false))
        for number in 0..<1000 { cache.setBytes([1], forKey: key(number)) }
        let isDone = Atomic(false)
        let wrong = Counter()
        let lists = 500
        onThreads(2) { thread in
            if thread == 0 {
                for _ in 0..<lists {
                    let keys = cache.entries().map(\.key)
                    if Set(keys).count != keys.count { wrong.increment() }
                }
                isDone.store(true, ordering: .relaxed)
            } else {
                var random = SplitMix64(seed: 1)
                while !isDone.load(ordering: .relaxed) {
                    let keys = Set((0..<8).map { _ in Int.random(in: 0..<1000, using: &random) })
                    for number in keys { cache.removeBytes(forKey: key(number)) }
                    for number in keys { cache.setBytes([1], forKey: key(number)) }
                }
            }
        }
        #expect(wrong.value == 0, "of \(lists) lists")
    }

    @Test func integerKeysAreListedOnce() { expectKeysOnce { $0 } }

    @Test func textKeysAreListedOnce() { expectKeysOnce { "key \($0)" } }
}
