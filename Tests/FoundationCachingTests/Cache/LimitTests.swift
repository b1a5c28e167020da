//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing
import _CacheTestSupport

@Suite struct LimitTests {
    private func fill(
        _ numbers: Range<Int>,
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        cost: (Int) -> Int = { _ in 0 }
    ) -> NSCache<NSNumber, Token> {
        let cache = NSCache<NSNumber, Token>()
        cache.countLimit = countLimit
        cache.totalCostLimit = totalCostLimit
        for number in numbers { cache.setObject(Token(number), forKey: NSNumber(value: number), cost: cost(number)) }
        return cache
    }

    @Test("17 countLimit 10, 11 inserts: 10 present, the newest among them")
    func elevenIntoTen() {
        let cache = fill(0..<11, countLimit: 10)
        #expect(cache.object(forKey: 10) != nil)
        #expect(present(in: cache, of: 0..<11).count == 10)
    }

    @Test("18 countLimit 5, keys 0…10: exactly 6…10")
    func leastRecentlyUsedGo() {
        #expect(present(in: fill(0..<11, countLimit: 5), of: 0..<11) == [6, 7, 8, 9, 10])
    }

    @Test("19 countLimit 500, 1000 inserts: 0 absent, 600 present")
    func thousandIntoFiveHundred() {
        let cache = fill(0..<1_000, countLimit: 500)
        #expect(cache.object(forKey: 0) == nil)
        #expect(cache.object(forKey: 600) != nil)
        #expect(present(in: cache, of: 0..<1_000).count == 500)
    }

    @Test("20 a hot key read between inserts survives", arguments: [2, 3, 10, 100])
    func hotKeySurvives(limit: Int) {
        let cache = fill(0..<1, countLimit: limit)
        for number in 1..<limit * 10 {
            #expect(cache.object(forKey: 0) != nil)
            cache.setObject(Token(number), forKey: NSNumber(value: number))
        }
        #expect(cache.object(forKey: 0) != nil)
    }

    @Test("21 countLimit 2, costs 1, 2, 3: the first is gone, the others are present")
    func countLimitIgnoresCosts() {
        #expect(present(in: fill(1..<4, countLimit: 2) { $0 }, of: 1..<4) == [2, 3])
    }

    @Test("22 totalCostLimit 10, costs 4, 5, 5: the first is gone, the others are present")
    func costLimit() {
        #expect(present(in: fill(0..<3, totalCostLimit: 10) { [4, 5, 5][$0] }, of: 0..<3) == [1, 2])
    }

    @Test("23 totalCostLimit 10, costs 1…5 by five keys: the first three are released")
    func costLimitReleases() {
        let cache = NSCache<NSNumber, Token>()
        cache.totalCostLimit = 10
        let counters = (0..<5).map { _ in LifeCounter() }
        for number in 0..<5 {
            cache.setObject(Token(in: counters[number]), forKey: NSNumber(value: number), cost: number + 1)
        }
        #expect(counters.map(\.alive) == [0, 0, 0, 1, 1])
    }

    @Test("24 totalCostLimit 10, three of cost 10: only the last")
    func onlyTheLast() {
        #expect(present(in: fill(0..<3, totalCostLimit: 10) { _ in 10 }, of: 0..<3) == [2])
    }

    @Test("25 and 35 neither limit is ever exceeded after a call returns", arguments: 0..<6)
    func limitsHold(run: UInt64) {
        let seed = UInt64.random(in: 0...UInt64.max) &+ run
        print("limits seed \(seed)")
        var random = SplitMix64(seed: seed)
        let cache = NSCache<NSNumber, NSNumber>()
        let recorder = CostRecorder()
        cache.delegate = recorder
        var costs: [Int: Int] = [:]
        for step in 0..<3_000 {
            switch Int.random(in: 0..<40, using: &random) {
            case 0: cache.countLimit = Int.random(in: -1...50, using: &random)
            case 1: cache.totalCostLimit = Int.random(in: -1...500, using: &random)
            case 2...5: cache.removeObject(forKey: NSNumber(value: Int.random(in: 0..<100, using: &random)))
            case 6...12: _ = cache.object(forKey: NSNumber(value: Int.random(in: 0..<100, using: &random)))
            case 13 where step % 10 == 0: cache.removeAllObjects()
            default:
                let key = Int.random(in: 0..<100, using: &random)
                let cost = Int.random(in: -2...60, using: &random)
                cache.setObject(recorder.object(cost: max(cost, 0)), forKey: NSNumber(value: key), cost: cost)
                costs[key] = max(cost, 0)
            }
            let held = (0..<100).compactMap { cache.object(forKey: NSNumber(value: $0)) }
            let total = held.reduce(0) { $0 + recorder.cost(of: $1) }
            guard cache.countLimit <= 0 || held.count <= cache.countLimit,
                cache.totalCostLimit <= 0 || total <= cache.totalCostLimit,
                recorder.stored - recorder.told == held.count
            else {
                Issue.record(
                    "seed \(seed), step \(step): \(held.count) held of \(recorder.stored), \(recorder.told) told, cost \(total)"
                )
                return
            }
        }
    }

    /// Makes objects that carry a cost and counts their departures.
    final class CostRecorder: NSObject, NSCacheDelegate {
        private var costs: [Int: Int] = [:]
        private(set) var stored = 0
        private(set) var told = 0
        func object(cost: Int) -> NSNumber {
            stored += 1
            costs[stored] = cost
            return NSNumber(value: stored)
        }
        func cost(of object: NSNumber) -> Int { costs[object.intValue] ?? 0 }
        func cache(_ cache: NSCache<AnyObject, AnyObject>, willEvictObject obj: Any) { told += 1 }
    }

    @Test("26 lowering countLimit trims at once")
    func loweringCountLimit() {
        let cache = fill(0..<100, countLimit: 100)
        let recorder = Recorder()
        cache.delegate = recorder
        cache.countLimit = 10
        #expect(recorder.numbers == Array(0..<90))
        #expect(present(in: cache, of: 0..<100) == Array(90..<100))
    }

    @Test("27 lowering totalCostLimit trims at once")
    func loweringCostLimit() {
        let cache = fill(0..<100, totalCostLimit: 100) { _ in 1 }
        let recorder = Recorder()
        cache.delegate = recorder
        cache.totalCostLimit = 10
        #expect(recorder.numbers == Array(0..<90))
        #expect(present(in: cache, of: 0..<100) == Array(90..<100))
    }

    @Test("28 a limit set back to 0 is no limit; 34 a negative limit is none", arguments: [0, -1, Int.min])
    func withoutLimit(limit: Int) {
        let cache = fill(0..<10, countLimit: 3, totalCostLimit: 3) { _ in 1 }
        #expect(present(in: cache, of: 0..<10).count == 3)
        cache.countLimit = limit
        cache.totalCostLimit = limit
        for number in 0..<1_000 { cache.setObject(Token(), forKey: NSNumber(value: number), cost: 5) }
        #expect(present(in: cache, of: 0..<1_000).count == 1_000)
    }

    @Test("29 replacing by a lower cost frees room")
    func cheaperReplacement() {
        let cache = fill(0..<2, totalCostLimit: 10) { _ in 5 }
        cache.setObject(Token(), forKey: 0, cost: 1)
        cache.setObject(Token(), forKey: 2, cost: 4)
        #expect(present(in: cache, of: 0..<3) == [0, 1, 2])
    }

    @Test("30 replacing by a higher cost evicts others, not the new value")
    func dearerReplacement() {
        let cache = fill(0..<3, totalCostLimit: 12) { _ in 4 }
        cache.setObject(Token(99), forKey: 0, cost: 8)
        #expect(cache.object(forKey: 0)?.number == 99)
        #expect(present(in: cache, of: 0..<3) == [0, 2])
    }

    @Test("31 a removal subtracts the cost")
    func removalSubtracts() {
        let cache = fill(0..<0, totalCostLimit: 10)
        for _ in 0..<20 {
            cache.setObject(Token(), forKey: 0, cost: 5)
            cache.removeObject(forKey: 0)
        }
        cache.setObject(Token(), forKey: 1, cost: 5)
        cache.setObject(Token(), forKey: 2, cost: 5)
        #expect(present(in: cache, of: 0..<3) == [1, 2])
    }

    @Test("32 removeAllObjects makes the total zero")
    func removeAllSubtracts() {
        let cache = fill(0..<10, totalCostLimit: 10) { _ in 1 }
        cache.removeAllObjects()
        for number in 20..<30 { cache.setObject(Token(), forKey: NSNumber(value: number), cost: 1) }
        #expect(present(in: cache, of: 0..<30) == Array(20..<30))
    }

    @Test("33 a negative cost is 0")
    func negativeCost() {
        let cache = fill(0..<3, totalCostLimit: 10) { [-100, Int.min, -1][$0] }
        for number in 3..<6 { cache.setObject(Token(), forKey: NSNumber(value: number), cost: 5) }
        #expect(present(in: cache, of: 0..<6) == [0, 1, 2, 4, 5])
    }

    @Test("36 a cost equal to the limit is admitted")
    func exactFit() {
        #expect(present(in: fill(0..<1, totalCostLimit: 10) { _ in 10 }, of: 0..<1) == [0])
        #expect(present(in: fill(0..<1, totalCostLimit: .max) { _ in .max }, of: 0..<1) == [0])
    }

    @Test("37 100k inserts with ascending costs take linear time")
    func ascendingCosts() {
        let cache = NSCache<NSNumber, Token>()
        let keys = (0..<100_000).map { NSNumber(value: $0) }
        let value = Token()
        // A debug build takes about a second; quadratic insertion takes minutes.
        failingWhenStuck("inserting 100,000 costs") {
            for (cost, key) in keys.enumerated() { cache.setObject(value, forKey: key, cost: cost) }
        }
        #expect(present(in: cache, of: 99_990..<100_000).count == 10)
    }

    @Test("An object dearer than the limit leaves alone, with what it would replace")
    func giants() {
        let cache = fill(0..<100, totalCostLimit: 100) { _ in 1 }
        let recorder = Recorder()
        cache.delegate = recorder
        cache.setObject(Token(1_000), forKey: 1_000, cost: 1_000_000)
        #expect(cache.object(forKey: 1_000) == nil)
        #expect(present(in: cache, of: 0..<100).count == 100)
        cache.setObject(Token(1_001), forKey: 50, cost: 101)
        #expect(cache.object(forKey: 50) == nil, "the old value would be stale")
        #expect(present(in: cache, of: 0..<100).count == 99)
        #expect(recorder.numbers == [1_000, 50, 1_001], "a giant is told about as evicted, once")
    }

    @Test("Objects of cost 0 are never evicted for a limit on cost")
    func freeObjectsStay() {
        let cache = fill(0..<1_000, totalCostLimit: 10)
        cache.setObject(Token(), forKey: 1_000, cost: 10)
        cache.setObject(Token(), forKey: 1_001, cost: 1)
        #expect(present(in: cache, of: 0..<1_002) == Array(0..<1_000) + [1_001])
    }

    @Test("Costs up to Int.max add up without overflow")
    func hugeCosts() {
        let cache = fill(0..<4) { _ in .max }
        #expect(present(in: cache, of: 0..<4).count == 4)
        cache.totalCostLimit = .max
        #expect(present(in: cache, of: 0..<4) == [3])
        cache.removeAllObjects()
        cache.setObject(Token(), forKey: 1, cost: 1)
        #expect(present(in: cache, of: 0..<4) == [1])
    }
}
