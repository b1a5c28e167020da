//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import PurgeableMemory
import Testing

@Suite("Costs: a limit of bytes is never without effect")
struct CostTests {
    struct Page: CacheCostProviding, Sendable, Equatable {
        var html: String
        var cacheCost: Int { html.utf8.count }
    }

    struct Point: Sendable {
        var x: Double
        var y: Double
        var isVisible: Bool
    }

    /// A type that no cache can measure.
    final class Opaque: Sendable {}

    /// What a cache with a limit of bytes takes `value` to cost, by each call that stores without a cost.
    func costs<Value: Sendable>(of value: Value) async -> Set<Int> {
        let cache = MemoryCache<Int, Value>(
            totalCostLimit: 1 << 20,
            options: .init(evictsUnderMemoryPressure: false)
        )
        var costs: Set<Int> = []
        func note() {
            costs.insert(cache.count == 1 ? cache.totalCost : -1)
            cache.removeAll()
        }
        cache[1] = value
        note()
        cache.setValue(value, forKey: 1)
        note()
        cache.setValue(value, forKey: 1, expiresAfter: .seconds(3600))
        note()
        _ = cache.value(forKey: 1, orSet: { value })
        note()
        cache.updateValue(forKey: 1) { $0 = value }
        note()
        _ = await cache.value(forKey: 1) { value }
        note()
        _ = await cache.refreshValue(forKey: 1) { value }
        note()
        _ = await cache.values(forKeys: [1]) { _ in [1: value] }
        note()
        return costs
    }

    @Test("Values of known types are measured by every call that stores them")
    func measured() async {
        #expect(await costs(of: [UInt8](repeating: 7, count: 1000)) == [1000])
        #expect(await costs(of: ContiguousArray<UInt64>(repeating: 7, count: 10)) == [80])
        #expect(await costs(of: [1.0, 2.0, 3.0][1...]) == [16])
        #expect(await costs(of: [Point](repeating: Point(x: 1, y: 2, isVisible: true), count: 3)) == [72])
        #expect(await costs(of: "héllo") == [6])
        #expect(await costs(of: "hello"[...]) == [5])
        #expect(await costs(of: String(repeating: "a", count: 500)) == [500])
        #expect(await costs(of: 7) == [8])
        #expect(await costs(of: Point(x: 1, y: 2, isVisible: false)) == [17])
        #expect(await costs(of: SIMD4<Float>(repeating: 1)) == [16])
        #expect(await costs(of: Optional(7)) == [9])
        #expect(await costs(of: Page(html: "<p>")) == [3])
        #expect(await costs(of: PurgeableBytes(copying: [1, 2, 3])) == [3])
    }

    @Test("What is empty costs 1, so that the limit bounds how many there are")
    func empty() async {
        #expect(await costs(of: "") == [1])
        #expect(await costs(of: [UInt8]()) == [1])
        #expect(await costs(of: ()) == [1])
    }

    @Test("A hundred values of a thousand bytes do not fit into a thousand")
    func limit() {
        let cache = MemoryCache<Int, [UInt8]>(totalCostLimit: 1000, options: .init(evictsUnderMemoryPressure: false))
        for key in 0..<100 {
            cache[key] = [UInt8](repeating: 1, count: 1000)
            #expect(cache.totalCost <= 1000 && cache.contains(key))
        }
        #expect(cache.count == 1)
        // A limit that is set later holds for what comes then.
        let late = MemoryCache<Int, String>(options: .init(evictsUnderMemoryPressure: false))
        late[0] = "abc"
        #expect(late.totalCost == 0)
        late.totalCostLimit = 10
        for key in 1...10 { late[key] = "abcde" }
        #expect(late.totalCost == 10 && late.count == 3)
    }

    @Test("The owner's costs come first, also for types that are known")
    func given() {
        let closed = MemoryCache<Int, String>(totalCostLimit: 100) { _, _ in 7 }
        closed[1] = "a long text"
        #expect(closed.totalCost == 7)
        closed.setValue("a", forKey: 1, cost: 3)
        #expect(closed.totalCost == 3)
        let opaque = MemoryCache<Int, Opaque>(totalCostLimit: 100) { _, _ in 7 }
        opaque[1] = Opaque()
        #expect(opaque.totalCost == 7)
        // Without a closure every value is given its cost.
        let plain = MemoryCache<Int, Opaque>(totalCostLimit: 100)
        plain.setValue(Opaque(), forKey: 1, cost: 4)
        #expect(plain.totalCost == 4)
        // Without a limit nobody asks.
        let unlimited = MemoryCache<Int, Opaque>(countLimit: 5)
        unlimited[1] = Opaque()
        #expect(unlimited.contains(1) && unlimited.totalCost == 0)
    }

    @Test("A value that cannot be measured ends the process with a line that says what to do")
    func unknown() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let cache = MemoryCache<Int, [Opaque]>(totalCostLimit: 100)
                cache[1] = []
            }
        )
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("MemoryCache.init(cost:)"))
        #expect(text.contains("setValue(_:forKey:cost:)"))
        #expect(text.contains("CacheCostProviding"))
    }

    @Test("So does one that is loaded")
    func unknownLoaded() async {
        await #expect(processExitsWith: .failure) {
            let cache = MemoryCache<Int, Opaque>()
            cache.totalCostLimit = 100
            _ = await cache.value(forKey: 1) { Opaque() }
        }
    }
}
