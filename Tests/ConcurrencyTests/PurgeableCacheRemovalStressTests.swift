//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Testing
import _CacheTestSupport

/// Several threads remove, and segments are cleaned meanwhile.
@Suite("PurgeableCache: removals by several threads")
struct PurgeableCacheRemovalStressTests {
    @Test("Dead bytes go, and no other ones", arguments: zip([2, 8], [10_000, 100]))
    func deadBytes(threads: Int, size: Int) {
        failingWhenStuck("\(threads) threads that remove") {
            let cache = PurgeableCache<Int>(options: .init(evictsUnderMemoryPressure: false))
            let count = (32 << 20) / size
            func bytes(_ key: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: size) }
            for key in 0..<count { cache.setBytes(bytes(key), forKey: key) }
            inParallel(threads) { thread in
                for key in stride(from: thread, to: count, by: threads) where key % 10 != 0 {
                    cache.removeBytes(forKey: key)
                }
            }
            #expect(cache.count == (count + 9) / 10)
            // Steps that a thread left to another one, just when that ended, are made with the next removals.
            for key in stride(from: 0, to: count / 2, by: 10) { cache.removeBytes(forKey: key) }
            // Half as much as the values or 4 MiB, as much again since the last look, two segments in use, and what is
            // about to be cleaned. All that was stored has 32 MiB.
            let held = count / 20 * (size + 16)
            let volatile = cache.statistics.volatileBytes
            #expect(volatile < held * 3 / 2 + (16 << 20), "\(volatile) for \(held)")
            let first = (count / 2 + 9) / 10 * 10
            #expect(stride(from: first, to: count, by: 10).allSatisfy { cache.bytes(forKey: $0) == bytes($0) })
        }
    }
}
