//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization
import Testing

@Suite("MemoryCache: the contract")
struct MemoryCacheTests {
    @Test("a new cache is empty and without limits")
    func defaults() {
        let cache = MemoryCache<String, Int>()
        #expect(cache.name == "")
        #expect(cache.countLimit == 0)
        #expect(cache.totalCostLimit == 0)
        #expect(cache.evictsValuesWithDiscardedContent)
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache["a"] == nil)
    }

    @Test("set, read, replace, remove")
    func access() {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        #expect(cache["a"] == 1)
        cache["a"] = 2
        #expect(cache["a"] == 2)
        #expect(cache.count == 1)
        #expect(cache.contains("a"))
        #expect(cache.removeValue(forKey: "a") == 2)
        #expect(cache.removeValue(forKey: "a") == nil)
        #expect(!cache.contains("a"))
        cache["b"] = 3
        cache["b"] = nil
        #expect(cache.count == 0)
    }

    @Test("the count limit holds after every call, and the newcomer is in")
    func countLimit() {
        let cache = MemoryCache<Int, Int>(countLimit: 5)
        for key in 0...10 {
            cache[key] = key
            #expect(cache.count <= 5)
            #expect(cache.contains(key))
        }
        #expect((0...10).filter { cache.contains($0) } == Array(6...10))
        cache.countLimit = 2
        #expect(cache.count == 2)
        cache.countLimit = 0
        for key in 0..<100 { cache[key] = key }
        #expect(cache.count == 100)
    }

    @Test("a key read between insertions survives")
    func hotKey() {
        let cache = MemoryCache<Int, Int>(countLimit: 4)
        cache[-1] = -1
        for key in 0..<100 {
            #expect(cache[-1] == -1)
            cache[key] = key
        }
        #expect(cache.contains(-1))
    }

    @Test("the cost limit holds, refuses what is larger alone, and leaves what costs nothing")
    func costLimit() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 10)
        cache.setValue(0, forKey: 0, cost: 0)
        for key in 1...5 { cache.setValue(key, forKey: key, cost: key) }
        #expect(cache.totalCost <= 10)
        #expect(cache.contains(0) && cache.contains(5))
        cache.setValue(1, forKey: 5, cost: 11)
        #expect(!cache.contains(5))
        #expect(cache.statistics.refusals == 1)
        #expect(cache.contains(0))
        #expect(!cache.setValue(1, forKey: 6, cost: 10), "worth a tenth a byte, it would displace all the others")
        #expect(cache.statistics.refusals == 2)
        #expect(cache.setValue(1, forKey: 6, cost: 10, recomputeCost: 1000))
        #expect(cache.totalCost == 10)
        #expect(cache.contains(0) && cache.contains(6))
        cache.setValue(1, forKey: 7, cost: -3)
        #expect(cache.totalCost == 10)
    }

    @Test("costs near Int.max saturate instead of trapping")
    func saturation() {
        let cache = MemoryCache<Int, Int>()
        for key in 0..<3 { cache.setValue(key, forKey: key, cost: .max) }
        #expect(cache.count == 3)
        #expect(cache.totalCost == .max)
        cache.totalCostLimit = .max
        cache.setValue(9, forKey: 9, cost: .max)
        #expect(cache.contains(9))
        cache.removeAll()
        #expect(cache.totalCost == 0)
    }

    @Test("the removal handler hears of every departure once, with its cause")
    func removalHandler() {
        let heard = Mutex<[String]>([])
        let cache = MemoryCache<Int, Int>(
            countLimit: 2,
            options: .init(removalHandler: { key, value, cause in
                heard.withLock { $0.append("\(key)=\(value) \(cause)") }
            })
        )
        cache[1] = 1
        cache[1] = 2
        cache[2] = 1
        cache[3] = 1
        cache[2] = nil
        cache.removeAll()
        #expect(heard.withLock { $0 } == ["1=1 replaced", "1=2 countLimit", "2=1 removed", "3=1 removed"])
    }

    @Test("statistics count what happened, and a difference says what happened between")
    func statistics() {
        let cache = MemoryCache<Int, Int>(countLimit: 1)
        _ = cache[1]
        cache[1] = 1
        _ = cache[1]
        let before = cache.statistics
        #expect(before.hits == 1 && before.misses == 1 && before.insertions == 1 && before.hitRate == 0.5)
        cache[2] = 1
        let window = cache.statistics - before
        #expect(window.hits == 0 && window.insertions == 1 && window.evictions == 1 && window.count == 1)
        #expect(window.removals(.countLimit) == 1)
    }
}
