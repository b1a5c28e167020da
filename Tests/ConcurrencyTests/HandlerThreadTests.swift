//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import Synchronization
import Testing
import _CacheTestSupport

/// Which thread calls removal handlers, and when.
@Suite("Removal handlers under threads")
struct HandlerThreadTests {
    @Test("Each thread tells of what its own calls have made leave, before they return", arguments: CacheKind.allCases)
    func ownThread(_ kind: CacheKind) {
        failingWhenStuck("handlers of eight threads") {
            let foreign = Atomic(0)
            let late = Atomic(0)
            let told = Mutex<[Int: Int]>([:])
            let options = MemoryCacheOptions<Int, Int>(
                removalHandler: { key, _, _ in
                    let thread = Thread.current.threadDictionary["number"] as? Int
                    if thread != key % 8 { foreign.add(1, ordering: .relaxed) }
                    told.withLock { $0[key % 8, default: 0] += 1 }
                },
                evictsUnderMemoryPressure: false
            )
            let cache = EitherCache<Int>(kind, options: options)
            inParallel(8) { thread in
                Thread.current.threadDictionary["number"] = thread
                for round in 0..<stressed(2_000) {
                    let key = round % 50 * 8 + thread
                    cache[key] = round
                    cache[key] = round + 1
                    cache.removeValue(forKey: key)
                    // Of these three calls the second and the third make something leave.
                    if told.withLock({ $0[thread] }) != 2 * (round + 1) { late.add(1, ordering: .relaxed) }
                }
            }
            #expect(foreign.load(ordering: .relaxed) == 0 && late.load(ordering: .relaxed) == 0)
            #expect(cache.count == 0)
        }
    }
}
