//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What the policy learns from entries that leave without being evicted.
@Suite("Engine: entries that expire and entries that are removed")
struct EngineDepartureTests {
    enum Departure: CaseIterable { case expiry, idleExpiry, removal }

    // LRU misses the first request for each key and no other. Before what such entries had wasted was counted, all
    // requests missed where they were removed or had not been used for long.
    @Test("space is not left to keys that are not asked for again", arguments: [1000, 3000], Departure.allCases)
    func pairs(capacity: Int, departure: Departure) {
        let clock = ManualClock()
        let idle: Duration? = departure == .idleExpiry ? .milliseconds(capacity * 3 / 2) : nil
        let engine = CacheEngine<Int, Int>(countLimit: capacity, clock: clock, idleLifetime: idle)
        let gap = capacity * 3 / 10
        let lifetime: Duration? = departure == .expiry ? .milliseconds(capacity * 9 / 5) : nil
        var misses = 0
        for request in 0..<capacity * 100 {
            clock.advance(by: .milliseconds(1))
            // Each key twice, the second time after .3 of the places; removed after 1.5 turnovers more.
            let number = request / 2
            let key = request % 2 == 0 ? number : number - gap
            if engine.value(forKey: key) == nil {
                if request > capacity * 40 { misses += 1 }
                engine.setValue(key, forKey: key, expiresAfter: lifetime)
            }
            if departure == .removal { engine.removeValue(forKey: number - gap - capacity * 3 / 4) }
        }
        let share = Double(misses) / Double(capacity * 60)
        #expect(share < 0.6, "\(share) of the requests missed, and half as many have to")
        engine._checkInvariants()
    }
}
