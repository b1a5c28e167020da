//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// A cache in order of use, and how many entries are older than each that leaves it, counted exactly (a Fenwick tree
/// over the times of the last uses).
private final class UsedCache {
    let engine = CacheEngine<Int, Int>(ordering: .reuse)
    /// The largest part of the entries that were older than a victim, and victims that were not among the oldest tenth.
    private(set) var worst = 0.0
    private(set) var late = 0
    private var place: [Int: Int] = [:]
    private var left: [Int]
    private var now = 0

    /// - Parameter uses: how often entries are used at most.
    init(uses: Int) {
        left = [Int](repeating: 0, count: uses + 1)
        engine.removalObserver = { [unowned self] key, _, cause in
            guard let index = place.removeValue(forKey: key) else { return }
            let older = older(than: index)
            add(-1, at: index)
            guard cause != .removed else { return }
            let part = Double(older) / Double(place.count + 1)
            worst = max(worst, part)
            if older > 0, part > 0.1 { late += 1 }
        }
    }

    func set(_ key: Int, cost: Int = 0) {
        engine.setValue(key, forKey: key, cost: cost)
        use(key)
    }

    /// What is not asked to be counted is no part of the order.
    func get(_ key: Int) { if engine.value(forKey: key) != nil { use(key) } }

    private func use(_ key: Int) {
        if let old = place.updateValue(now, forKey: key) { add(-1, at: old) }
        add(1, at: now)
        now += 1
    }

    private func add(_ number: Int, at index: Int) {
        var index = index + 1
        while index < left.count {
            left[index] += number
            index += index & -index
        }
    }

    private func older(than index: Int) -> Int {
        var (index, sum) = (index, 0)
        while index > 0 {
            sum += left[index]
            index -= index & -index
        }
        return sum
    }
}

@Suite("Engine: in order of use, every victim is among the oldest tenth")
struct EngineOrderOfUseTests {
    /// What few entries are used often before and after all others says nothing of these: by their distances in time up
    /// to 97 % of all entries were taken for the oldest tenth. The room always comes out of one shard here.
    @Test("beside few entries that are used very often", arguments: [5_000, 30_000])
    func besideFewUsedOften(limit: Int) {
        let (hot, rounds) = (40_000, 300)
        let cache = UsedCache(uses: 5 * limit + 4 * hot + 2 * rounds + 10)
        cache.engine.countLimit = limit
        for key in 0..<2 * limit { cache.set(key) }
        for _ in 0..<2 {
            for _ in 0..<hot { for key in [2 * limit - 1, 2 * limit - 2] { cache.get(key) } }
            for key in limit..<2 * limit { cache.get(key) }
        }
        for round in 0..<rounds {
            cache.set(-1)
            cache.engine.removeValue(forKey: -1)
            cache.set(2 * limit + round)
        }
        #expect(cache.late == 0, "of \(2 * limit + 2 * rounds), \(cache.worst) were older than the worst")
        cache.engine._checkInvariants()
    }

    /// A cost limit evicts among those that cost something.
    @Test("among few that cost something, beside many that do not")
    func besideManyWithoutCosts() {
        let (costly, costless) = (1_280, 50_000)
        let cache = UsedCache(uses: 8 * costly)
        cache.engine.totalCostLimit = costly
        for key in 0..<costless { cache.engine.setValue(key, forKey: -1 - key, cost: 0) }
        for key in 0..<4 * costly {
            cache.set(key, cost: 1)
            for _ in 0..<4 { _ = cache.engine.value(forKey: -1 - key * 7 % costless) }
            if key % 3 == 0 { cache.get(max(0, key - key % costly)) }
        }
        #expect(cache.late == 0, "of \(3 * costly), \(cache.worst) were older than the worst")
        cache.engine._checkInvariants()
    }

    /// Sixteen at a time left one shard, of some dozens that it had.
    @Test(
        "under memory pressure, however few are left",
        arguments: [(5_000, 600), (40_000, 2_000), (100_000, 100_000)]
    )
    func underPressure(_ sizes: (peak: Int, left: Int)) {
        let cache = UsedCache(uses: 2 * sizes.peak + 2 * sizes.left)
        for key in 0..<sizes.peak { cache.set(key) }
        cache.engine.countLimit = sizes.left
        cache.engine.countLimit = 0
        for key in stride(from: sizes.peak - sizes.left, to: sizes.peak, by: 3) { cache.get(key) }
        var key = sizes.peak
        while cache.engine.count > sizes.left / 50 {
            _ = cache.engine.evict(bytes: sizes.left / 20, below: .infinity)
            for _ in 0..<sizes.left / 100 {
                cache.set(key)
                key += 1
            }
        }
        #expect(cache.late == 0, "\(cache.worst) were older than the worst")
        cache.engine._checkInvariants()
    }

    /// After 10¹³ uses, which take a day: what one move adds must not be lost in the digits of their number.
    @Test("after very many uses", arguments: [5_000, 50_000])
    func afterManyUses(limit: Int) {
        let cache = UsedCache(uses: 6 * limit)
        cache.engine.countLimit = limit
        cache.set(0)
        #expect(cache.engine.age(by: 0x1p43) > 0x1p43)
        for key in 0..<2 * limit { cache.set(key) }
        for key in stride(from: limit, to: 2 * limit, by: 2) { cache.get(key) }
        cache.engine.countLimit = limit / 100
        #expect(cache.late == 0, "\(cache.worst) were older than the worst")
        cache.engine._checkInvariants()
    }

    /// What is behind the marks leaves, so that what is before them becomes a larger part.
    @Test("when what was used last is removed", arguments: [5_000, 50_000])
    func afterRemovals(limit: Int) {
        let cache = UsedCache(uses: 4 * limit)
        cache.engine.countLimit = limit
        for key in 0..<2 * limit { cache.set(key) }
        for key in 2 * limit - limit * 9 / 10..<2 * limit { cache.engine.removeValue(forKey: key) }
        let left = cache.engine.count
        cache.engine.countLimit = left
        // The room comes out of one shard.
        for round in 0..<60 {
            cache.set(-1)
            cache.engine.removeValue(forKey: -1)
            cache.set(2 * limit + round)
        }
        #expect(cache.late == 0, "\(cache.worst) were older than the worst")
        cache.engine._checkInvariants()
    }

    /// The entry that is replaced is out of the order while room is made, though it is the oldest.
    @Test("a large replacement of the oldest entry evicts others")
    func largeReplacement() {
        let engine = CacheEngine<Int, Int>(ordering: .reuse)
        for key in 0..<5000 { engine.setValue(key, forKey: key) }
        engine.removeAll()
        engine.totalCostLimit = 1000
        for key in 0..<200 {
            engine.setValue(key, forKey: key, cost: 700)
            for other in 1_000..<1_003 { engine.setValue(other, forKey: other, cost: 100) }
            for cost in [800, 950, 1000] {
                #expect(engine.setValue(-key, forKey: key, cost: cost))
                #expect(engine.value(forKey: key) == -key && engine.totalCost <= 1000)
            }
        }
        engine._checkInvariants()
    }
}
