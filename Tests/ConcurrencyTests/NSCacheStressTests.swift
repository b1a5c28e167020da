//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Synchronization
import Testing
import _CacheTestSupport

import class FoundationCaching.NSCache
import protocol FoundationCaching.NSCacheDelegate

@Suite struct NSCacheStressTests {
    /// Counts what it is told, and looks at the cache while it is.
    final class Counter: NSObject, NSCacheDelegate {
        let told = Atomic<Int>(0)
        func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) {
            told.add(1, ordering: .relaxed)
            _ = cache.object(forKey: NSNumber(value: 1))
        }
    }

    @Test("Four threads with every member: nothing is lost, nothing is told twice")
    func everyMember() {
        let cache = NSCache<NSNumber, NSNumber>()
        let counter = Counter()
        cache.delegate = counter
        let stored = Atomic<Int>(0)
        let seed = UInt64.random(in: 0...UInt64.max)
        print("NSCache stress seed \(seed)")
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var random = SplitMix64(seed: seed &+ UInt64(thread))
            for step in 0..<5_000 {
                let key = NSNumber(value: Int.random(in: 0..<300, using: &random))
                switch Int.random(in: 0..<20, using: &random) {
                case 0: cache.countLimit = Int.random(in: 50...100, using: &random)
                case 1: cache.totalCostLimit = Int.random(in: 500...1_000, using: &random)
                case 2, 3: cache.removeObject(forKey: key)
                case 4 where step % 50 == 0: cache.removeAllObjects()
                case 5: cache.name = "\(step)"
                case 6...12: _ = cache.object(forKey: key)
                default:
                    // Every object is its own, so that none replaces itself.
                    let number = stored.add(1, ordering: .relaxed).newValue
                    cache.setObject(NSNumber(value: number), forKey: key, cost: Int.random(in: 0...30, using: &random))
                }
            }
        }
        let held = (0..<300).count { cache.object(forKey: NSNumber(value: $0)) != nil }
        #expect(held <= cache.countLimit)
        #expect(stored.load(ordering: .relaxed) == counter.told.load(ordering: .relaxed) + held)
    }
}
