//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Engine: who is worth keeping")
struct EnginePolicyTests {
    @Test("logarithms and powers are exact at whole octaves and within 1/100 octave between")
    func logarithms() {
        for octave in -100...100 {
            let power = Double(sign: .plus, exponent: octave, significand: 1)
            #expect(FastLogarithm.log2(power) == Double(octave))
            #expect(FastLogarithm.exp2(Float(octave)) == Float(power))
        }
        for step in 0..<1000 {
            let value = 1 + Double(step) / 1000
            let power = FastLogarithm.exp2(Float(FastLogarithm.log2(value)))
            #expect(abs(Double(power) / value - 1) < 0.012)
        }
    }

    @Test("a recompute cost that is no positive number counts as unknown")
    func unknownCosts() {
        for cost in [Double.nan, -1, 0, .infinity, -.infinity] {
            #expect(Density(recomputeCost: cost, bytes: 1) == .one)
            #expect(Density(recomputeCost: cost, bytes: 64) == Density(recomputeCost: nil, bytes: 64))
        }
        #expect(Density(recomputeCost: 8, bytes: 2).octaves == 2)
        #expect(Density(recomputeCost: nil, bytes: 0) == .one)
        let extremes = [
            Density(recomputeCost: .greatestFiniteMagnitude, bytes: 1), Density(recomputeCost: nil, bytes: .max),
        ]
        // 10¹⁵ at most.
        #expect(abs(extremes[0].octaves - 49.83) < 0.05 && extremes[1].octaves == -63)
    }

    @Test("stays are rounded down to two bits of mantissa, and clamped")
    func stayCodes() {
        for value: Float in [0.05, 0.35, 1, 1.3, 2, 47, 0x1p-130, 0x1p120, .infinity] {
            let length = StayCode(value).length
            #expect(length <= max(value, 0x1p-100))
            if value < 0x1p100, value > 0x1p-100 { #expect(length > value * 0.79) }
            #expect(StayCode(length) == StayCode(value))
        }
    }

    @Test("under a cost limit, shards of few entries look for a cheaper victim in others")
    func victimsAmongFew() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(totalCostLimit: 200_000)
        for request in 0..<100_000 {
            // It has split by now, and keeps its shards.
            if request == 20_000 { engine.totalCostLimit = 20_000 }
            let key = min(Int.random(in: 0..<20_000, using: &random), Int.random(in: 0..<20_000, using: &random))
            if engine.value(forKey: key) == nil { engine.setValue(key, forKey: key, cost: key * 37 % 64 + 1) }
        }
        engine.publishAll()
        let shards = 1 << Int(engine.directory.load(ordering: .acquiring) & 63)
        try #require(shards > 1)
        var others = 0
        for index in 0..<shards {
            let shard = try #require(engine.lockShard(at: index))
            defer { engine.unlock(shard) }
            // Not the sixteenth victim, before which all shards look at all others.
            shard.pointee.victims = 0
            let source = engine.cheaperShard(than: shard, for: .costLimit, after: 0)
            if source != shard {
                others += 1
                engine.unlock(source)
            }
        }
        // Each looks at three others: of 16 shards, 8 to 11 found something cheaper in twelve runs.
        #expect(others > 0)
    }

    @Test("of entries alike the oldest go first, over all shards")
    func theOldestOfEqualsGoFirst() {
        let cache = MemoryCache<Int, Int>()
        let count = 40_000
        for key in 0..<count { cache.setValue(key, forKey: key, cost: 1) }
        cache.trim(toCost: count / 2)
        let kept = (0..<count).filter { cache.contains($0) }
        #expect(kept.count == count / 2)
        // The shards take turns, and hash to some hundred entries more or less: nothing of the oldest third has stayed,
        // nothing of the newest third has gone.
        #expect(kept.first! > count / 3)
        #expect(kept.filter { $0 >= count * 2 / 3 }.count == count - count * 2 / 3)
    }

    @Test("a ghost is found once, ages with inflation, and the oldest of a set gives way")
    func ghosts() throws {
        var table = GhostTable()
        defer { table.deallocate() }
        let none = table.take(5, inflation: 0)
        #expect(none == nil)
        for hash: UInt64 in 1...8 {
            table.put(hash, class: Int(hash % 4), inflation: Double(hash), stay: 1, residents: 8)
        }
        let found = table.take(3, inflation: 10)
        let ghost = try #require(found)
        #expect(ghost.class == 3)
        #expect(abs(ghost.age - 7) < 0.1)
        let again = table.take(3, inflation: 10)
        #expect(again == nil)
        table.put(9, class: 0, inflation: 10, stay: 1, residents: 8)
        table.put(10, class: 0, inflation: 11, stay: 1, residents: 8)
        let (oldest, younger) = (table.take(1, inflation: 11), table.take(2, inflation: 11))
        #expect(oldest == nil, "the oldest has given way")
        #expect(younger != nil)
        #expect(table.meanAge > 0)
    }

    @Test("ghosts' ages survive changes of the unit of time")
    func ghostRescaling() throws {
        var table = GhostTable()
        defer { table.deallocate() }
        var inflation = 0.0
        for round in 0..<20_000 {
            inflation += round < 10_000 ? 0.001 : 10
            table.put(
                UInt64(round) &* 0x9E37_79B9_7F4A_7C15,
                class: 1,
                inflation: inflation,
                stay: 0.35,
                residents: 500
            )
        }
        #expect(table.capacity >= 350 && table.capacity <= 800)
        let last = UInt64(19_990) &* 0x9E37_79B9_7F4A_7C15
        let found = table.take(last, inflation: inflation)
        let ghost = try #require(found)
        #expect(abs(ghost.age - 90) < 90)
    }

    @Test("each of few heirs remembers the youngest of what was evicted, and of many none", arguments: [1, 2, 4, 16])
    func ghostsOfHeirs(heirs: Int) {
        var table = GhostTable()
        defer { table.deallocate() }
        // Of which no two have one fingerprint in one set.
        var random = SplitMix64(seed: 7)
        let hashes = (0..<1000).map { _ in random.next() }
        // Others before, by which the ages at the end become known.
        for number in -4000..<0 {
            table.put(random.next(), class: 0, inflation: 8 + Double(number) / 500, stay: 1, residents: 1000)
        }
        for (number, hash) in hashes.enumerated() {
            table.put(hash, class: number % 4, inflation: 8 + Double(number) / 500, stay: 1, residents: 1000)
        }
        var copied = table.copy()
        defer { copied.deallocate() }
        let remembered = hashes.indices.filter { copied.take(hashes[$0], inflation: 10) != nil }
        #expect(remembered.count > 600)
        var inherited = table.inherited(byEachOf: heirs, inflation: 10)
        defer { inherited.deallocate() }
        #expect(inherited.capacity == (heirs > 4 ? 0 : table.capacity / heirs))
        #expect(inherited.meanAge == table.meanAge && inherited.unit == table.unit)
        if heirs > 4 { return }
        var found: [Int] = []
        for number in hashes.indices {
            guard let ghost = inherited.take(hashes[number], inflation: 10) else { continue }
            found.append(number)
            #expect(ghost.class == number % 4 && abs(ghost.age - (2 - Double(number) / 500)) < 0.1)
        }
        if heirs == 1 { #expect(found == remembered) }
        // As many as there are places for, but for sets that got fewer than eight and places that more than eight want.
        #expect(found.count >= min(remembered.count, inherited.capacity) / 2)
        let youngest = remembered.suffix(inherited.capacity)
        #expect(found.allSatisfy { $0 >= youngest.first! - 500 })
        #expect(Set(found).intersection(youngest).count >= found.count * 3 / 4)
    }

    @Test("the learner keeps a class longer whose ghosts return, and lets one go that earns nothing")
    func learner() {
        var learner = PolicyLearner()
        for _ in 0..<200 {
            var evidence = PolicyEvidence()
            evidence.evictions = 16
            evidence.insertions = 16
            evidence.expenses = [8, 8, 0, 0]
            evidence.hits = [0, 6, 0, 0]
            learner.absorb(evidence, residents: 100)
        }
        #expect(learner.classWeights[1] > 1.2)
        #expect(learner.classWeights[0] < 0.3)
        #expect(learner.classWeights.min() >= 0.05 && learner.classWeights.max() <= 16)
        #expect(learner.exponent >= 0 && learner.exponent <= 2)
    }

    @Test("under a cost limit, what is dear to make and small stays")
    func density() {
        let engine = CacheEngine<Int, Int>(totalCostLimit: 1000)
        for key in 0..<10 { engine.setValue(key, forKey: key, cost: 10, recomputeCost: 1000) }
        for key in 100..<1000 { engine.setValue(key, forKey: key, cost: 50, recomputeCost: 1) }
        #expect((0..<10).allSatisfy { engine.contains($0) })
        engine._checkInvariants()
    }

    @Test("a scan does not push out what is used again and again")
    func scan() {
        let engine = CacheEngine<Int, Int>(countLimit: 200)
        for round in 0..<20 {
            for key in 0..<100 where engine.value(forKey: key) == nil { engine.setValue(key, forKey: key) }
            for key in 0..<100 { engine.setValue(key, forKey: 1000 + round * 100 + key) }
        }
        let kept = (0..<100).count { engine.contains($0) }
        #expect(kept >= 95)
    }

    @Test("keys by worth: the next victim is the coldest")
    func order() {
        let engine = CacheEngine<Int, Int>(countLimit: 10, ordering: .worth)
        for key in 0..<10 { engine.setValue(key, forKey: key) }
        _ = engine.value(forKey: 0)
        #expect(engine.coldestKeys(1) == [1])
        #expect(engine.hottestKeys(1) == [0])
        let coldest = engine.coldestKeys(3)
        engine.trim(toCount: 7)
        #expect(coldest.allSatisfy { !engine.contains($0) })
    }

    @Test("keys by worth: in many shards, the next victim is the coldest of one")
    func orderOfShards() throws {
        let engine = CacheEngine<Int, Int>(ordering: .worth)
        for key in 0..<20_000 { engine.setValue(key, forKey: key) }
        engine.countLimit = 20_000
        for round in 0..<20 {
            let coldest = engine.coldestKeys(engine.shardCount)
            engine.setValue(round, forKey: 20_000 + round)
            let victims = coldest.filter { !engine.contains($0) }
            #expect(victims.count == 1, "round \(round)")
        }
        #expect(engine.hottestKeys(20_000) == engine.coldestKeys(20_000).reversed())
    }

    @Test("heights stay exact however far inflation has risen")
    func rebasing() {
        let engine = CacheEngine<Int, Int>(countLimit: 64)
        var random = SplitMix64(seed: 7)
        for round in 0..<400_000 {
            let key = Int.random(in: 0..<100, using: &random)
            if engine.value(forKey: key) == nil { engine.setValue(round, forKey: key) }
        }
        engine._checkInvariants()
        var hits = 0
        for _ in 0..<10_000 {
            let key = Int.random(in: 0..<100, using: &random)
            if engine.value(forKey: key) == nil { engine.setValue(key, forKey: key) } else { hits += 1 }
        }
        // Uniform requests: any policy hits 64 of 100.
        #expect((6000...6800).contains(hits))
    }
}
