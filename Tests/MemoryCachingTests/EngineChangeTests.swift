//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Engine: forgetting in time")
struct EngineChangeTests {
    // MARK: The parts

    /// LRU, written down plainly.
    struct PlainLRU {
        var keys: [UInt32] = []

        mutating func use(_ key: UInt32) -> Bool {
            let place = keys.firstIndex(of: key)
            if let place { keys.remove(at: place) }
            keys.append(key)
            return place != nil
        }

        mutating func trim(to limit: Int) { if keys.count > limit { keys.removeFirst(keys.count - limit) } }
    }

    /// LRU whose keys expire.
    struct ExpiringLRU {
        private var ends: [Int: Int] = [:]
        private var latest: [Int: Int] = [:]
        private var uses: [Int] = []
        private var first = 0

        /// Whether it hits; a key that it misses it sets.
        mutating func use(_ key: Int, now: Int, lifetime: Int, limit: Int) -> Bool {
            let isHit = ends[key].map { $0 > now } ?? false
            if !isHit { ends[key] = now + lifetime }
            latest[key] = uses.count
            uses.append(key)
            while ends.count > limit {
                if latest[uses[first]] == first {
                    ends[uses[first]] = nil
                    latest[uses[first]] = nil
                }
                first += 1
            }
            return isHit
        }
    }

    @Test("the shadow holds what LRU holds")
    func shadow() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        var shadow = RecencyShadow()
        var model = PlainLRU()
        for _ in 0..<20_000 {
            // Few buckets, so that chains are long; keys beyond the model's limit, so that many leave.
            let key = UInt32.random(in: 0..<300, using: &random) << 6
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                shadow.remove(key)
                model.keys.removeAll { $0 == key }
            case 1:
                let limit = Int.random(in: 150..<250, using: &random)
                shadow.trim(to: limit)
                model.trim(to: limit)
            case 2 where Int.random(in: 0..<100, using: &random) == 0:
                let part = UInt32.random(in: 0..<4, using: &random)
                shadow.removeAll { $0 >> 6 & 3 == part }
                model.keys.removeAll { $0 >> 6 & 3 == part }
            default:
                #expect(shadow.use(key) == model.use(key))
            }
            #expect(shadow.count == model.keys.count)
        }
    }

    @Test("the rival counts what LRU and the cache hit, and judges by that")
    func rival() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        var rival = RecencyRival()
        var model = PlainLRU()
        // When the model's keys expire; nil where nobody knows. The sample's units begin again after 2³².
        var ends: [UInt32: Int64?] = [:]
        let unit: Int64 = 1 << 20
        var now = (1 << 32 - 3000) * unit
        var (advantage, previous, misses, differences, held) = (0.0, 0.0, 0.0, 0.0, 0)
        var verdicts: Set<Bool> = []
        for round in 0..<2000 {
            var uses = SampledUses()
            let growth = Int.random(in: -3...3, using: &random)
            uses.growth = Int32(held < 40 ? 5 : held > 80 ? -5 : growth)
            held += Int(uses.growth)
            // The cache hits few of the new keys in one half of the rounds, and most in the other.
            let isLucky = round / 100 % 2 == 0
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                let key = UInt32.random(in: 0..<100, using: &random) &* 0x9E37_79B9 >> 2
                now += Int64.random(in: 0..<3, using: &random) * unit
                let expires = Int.random(in: 0..<3, using: &random) == 0
                switch Int.random(in: 0..<20, using: &random) {
                case 0:
                    uses.append(.removal, UInt64(key) << 4)
                    model.keys.removeAll { $0 == key }
                case let number where (number < 6) != isLucky:
                    uses.append(.touch, UInt64(key) << 4, expires ? .unknown : .endless)
                    if !model.use(key) {
                        advantage -= 1
                        differences += 1
                        ends[key] = expires ? .some(nil) : .max
                    }
                default:
                    let end = expires ? now + Int64.random(in: 0..<200, using: &random) * unit : .max
                    uses.append(.insertion, UInt64(key) << 4, SampledLifetime(now: now, deadline: end))
                    misses += 1
                    if model.use(key), let known = ends[key]!, known > now {
                        advantage += 1
                        differences += 1
                    } else {
                        ends[key] = end
                    }
                }
                model.trim(to: held)
            }
            model.trim(to: held)
            rival.absorb(uses)
            #expect(rival.shadow.count == model.keys.count)
            guard round % 4 == 3 else { continue }
            rival.judge()
            let least = max(12, 0.05 * misses, 2 * differences.squareRoot())
            #expect(rival.isAhead == (advantage > least && advantage > previous))
            verdicts.insert(rival.isAhead)
            (advantage, misses, differences) = (advantage * 0.9, misses * 0.9, differences * 0.9)
            previous = advantage
        }
        #expect(verdicts == [false, true])
    }

    @Test("the shadow of a large cache looks at fewer keys")
    func thinning() {
        var random = SplitMix64(seed: 3)
        var rival = RecencyRival()
        for _ in 0..<20_000 {
            var uses = SampledUses()
            uses.growth = 8
            for _ in 0..<8 { uses.append(.insertion, random.next()) }
            rival.absorb(uses)
            #expect(rival.shadow.count <= RecencyRival.mostKeys)
        }
        // 160,000 sampled entries: one in 128 of their keys.
        #expect(rival.thinning == 7)
        #expect((1000...1500).contains(rival.shadow.count))
        var departures = SampledUses()
        departures.growth = -159_000
        rival.absorb(departures)
        #expect(rival.shadow.count <= 1000)
        for _ in 0..<1000 {
            var uses = SampledUses()
            uses.append(.insertion, random.next())
            rival.absorb(uses)
        }
        // Now each sampled key is looked at again.
        #expect(rival.thinning == 0)
        #expect(rival.shadow.count == 1000)
    }

    @Test("the shards of a large cache tell of the keys alone that the shadow looks at", arguments: [1000, 80_000])
    func toldUses(count: Int) {
        let engine = CacheEngine<Int, Int>(countLimit: count)
        for key in 0..<4 * count { engine.setValue(key, forKey: key) }
        let thinning = engine.learner?.rival.thinning
        #expect(thinning == (count == 1000 ? 0 : 2))
        engine.forEachShard { shard in
            #expect(shard.pointee.weights.thinning == thinning)
            // As many of each sampled key as fit in, of which the others say nothing.
            shard.pointee.uses.removeAll()
            var told = 0
            for fingerprint in 0..<8 as Range<UInt64> where shard.pointee.uses.count < 5 {
                // One whose fingerprint has these bits where thinning looks.
                let hash = (0...UInt64.max).first { UInt64(SampledUses.fingerprint($0) >> 16 & 7) == fingerprint }!
                shard.pointee.note(.removal, hash)
                if fingerprint & (1 << UInt64(thinning ?? 0) - 1) == 0 { told += 1 }
                #expect(Int(shard.pointee.uses.count) == told)
            }
        }
    }

    @Test("entries of another worth that have gone do not keep the cache from watching LRU")
    func densitiesThatHaveGone() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(totalCostLimit: 2_000_000)
        var shadow = RecencyShadow()
        var (misses, expected) = (0, 0)
        // 1,500 keys replaced each 20,000, and the first 1,000 entries cost a tenth more: 1.12 in each of 6 runs. As long
        // as no density but one might have been in the cache, 1.33 to 1.35.
        for request in 0..<200_000 {
            let key = request / 20_000 * 1500 + Int.random(in: 0..<1500, using: &random)
            if engine.value(forKey: key) == nil {
                misses += 1
                engine.setValue(key, forKey: key, cost: request < 1000 ? 1100 : 1000)
            }
            if !shadow.use(UInt32(key)) { expected += 1 }
            shadow.trim(to: 2000)
        }
        #expect(Double(misses) / Double(expected) < 1.22)
    }

    // MARK: The cache

    /// What all entries of a cache have in common.
    enum Sort: CaseIterable { case plain, lifetime, idleLifetime, cost, recomputeCost }

    /// A cache of 2,000 entries beside LRU, on the same requests.
    private func missesBesideLRU(_ sort: Sort, _ keys: some Sequence<Int>) -> Double {
        let engine = CacheEngine<Int, Int>(
            countLimit: sort == .cost ? 0 : 2000,
            totalCostLimit: sort == .cost ? 2_000_000 : 0,
            idleLifetime: sort == .idleLifetime ? .seconds(86_400) : nil
        )
        var shadow = RecencyShadow()
        var (misses, expected) = (0, 0)
        for key in keys {
            if engine.value(forKey: key) == nil {
                misses += 1
                engine.setValue(
                    key,
                    forKey: key,
                    cost: sort == .cost ? 1000 : 0,
                    recomputeCost: sort == .recomputeCost ? 25 : nil,
                    expiresAfter: sort == .lifetime ? .seconds(86_400) : nil
                )
            }
            if !shadow.use(UInt32(key)) { expected += 1 }
            shadow.trim(to: 2000)
        }
        engine._checkInvariants()
        return Double(misses) / Double(expected)
    }

    @Test("requests that change abruptly miss little more than with LRU", arguments: Sort.allCases)
    func changes(_ sort: Sort) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        // Of 10 streams each, the means were 1.32, 1.19 and 1.58 before there was a rival (at least 1.30, 1.18 and
        // 1.57). Of 200 streams each, they are 1.03, 1.01 and 1.25, and the largest 1.11, 1.02 and 1.39. Of 12,000 of the
        // first kind one had 1.18, and of 8,000 of the third twelve had 1.5 to 1.87, so the mean of three is asked for.
        var slow = 0.0
        for _ in 0..<3 {
            slow += missesBesideLRU(sort, (0..<100_000).map { $0 / 10 + Int.random(in: 0..<2000, using: &random) }) / 3
        }
        #expect(slow < 1.12, "a window of 2,000 keys, a new one each 10")
        let quick = missesBesideLRU(sort, (0..<100_000).map { $0 / 4 + Int.random(in: 0..<2000, using: &random) })
        #expect(quick < 1.11, "a window of 2,000 keys, a new one each 4")
        var sets = 0.0
        for _ in 0..<3 {
            let keys = (0..<100_000).map { $0 / 20_000 * 1500 + Int.random(in: 0..<1500, using: &random) }
            sets += missesBesideLRU(sort, keys) / 3
        }
        #expect(sets < 1.5, "1,500 keys replaced each 20,000")
    }

    @Test("requests that do not change are never better served by LRU", arguments: [500, 2000, 5000])
    func noChange(capacity: Int) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(countLimit: capacity)
        for _ in 0..<150_000 {
            // Logarithms spread evenly: Zipf's law with the exponent 1, over 32,768 keys.
            let key = Int(FastLogarithm.exp2(Float.random(in: 0..<15, using: &random)))
            if engine.value(forKey: key) == nil { engine.setValue(key, forKey: key) }
        }
        // The weights part when LRU is ahead, and never meet again to the last bit.
        let learner = engine.learner
        #expect(learner?.classWeights == learner?.steadyWeights)
        // LRU's keys were seen: of the sampled ones, whose number depends on the seed, almost all.
        var sampled: Int32 = 0
        engine.forEachShard { sampled += $0.pointee.sampled }
        #expect(sampled > 0 && learner?.rival.shadow.count ?? 0 > sampled / 2)
    }

    @Test("what expires is no advantage of LRU's", arguments: [300, 3000, 30_000, 300_000])
    func expiry(lifetime: Int) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(countLimit: 2000, clock: clock)
        for _ in 0..<150_000 {
            let key = Int(FastLogarithm.exp2(Float.random(in: 0..<15, using: &random)))
            clock.advance(by: .milliseconds(1))
            if engine.value(forKey: key) == nil {
                engine.setValue(key, forKey: key, expiresAfter: .milliseconds(lifetime))
            }
        }
        let learner = engine.learner
        #expect(learner?.classWeights == learner?.steadyWeights)
    }

    @Test("a key that is asked for again when its lifetime is over is no hit of LRU's")
    func lateRequests() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(countLimit: 2000, clock: clock)
        var model = ExpiringLRU()
        // Each key comes again after .3 of the places, and after .9, when it has expired a little earlier. LRU would
        // hold it still, expired. In the first turnovers the cache keeps few newcomers for .9 of the places, and LRU
        // misses less by 500 of 1,500 requests; later they miss about the same.
        var lead = 0.0
        var (right, wrong) = (0, 0)
        for newest in 0..<60_000 {
            clock.advance(by: .milliseconds(1))
            for key in [newest, newest - 600, newest - 1800] where key >= 0 {
                if !model.use(key, now: newest, lifetime: 1700, limit: 2000) { lead -= 1 }
                guard engine.value(forKey: key) == nil else { continue }
                lead += 1
                engine.setValue(key, forKey: key, expiresAfter: .milliseconds(1700))
            }
            guard newest % 500 == 0 else { continue }
            // The weights are corrected four times meanwhile.
            lead *= 0.9 * 0.9 * 0.9 * 0.9
            guard engine.learner?.rival.isAhead == true else { continue }
            if lead > 50 { right += 1 } else { wrong += 1 }
        }
        // A sample may err: in 60 runs it did 3 times, with leads of -8, -6 and 1. The least lead of the 981 others was
        // 114, where a window has 1,500 requests.
        #expect(right > 0 && wrong <= 1)
    }

    @Test("the sample is as large as what the cache holds of it, whatever is done to it")
    func sampleCount() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(countLimit: 6000)
        var firstSplit = 0
        for step in 0..<120_000 {
            if engine.directory.load(ordering: .relaxed) & 63 > 0, firstSplit == 0 { firstSplit = step }
            let key = Int.random(in: 0..<20_000, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<5: engine.removeValue(forKey: key)
            case 5..<8: engine.setValue(step, forKey: key, expiresAfter: .seconds(1000))
            case 8..<11: engine.setValue(step, forKey: key, recomputeCost: 8)
            case 11 where Int.random(in: 0..<600, using: &random) == 0: engine.removeAll()
            case 11 where Int.random(in: 0..<60, using: &random) == 0: engine.trim(toCount: 5000)
            default: if engine.value(forKey: key) == nil { engine.setValue(step, forKey: key) }
            }
        }
        #expect(firstSplit > 0, "what has not been told of is told after a split, too")
        var told = 0
        engine.forEachShard { shard in
            told += Int(shard.pointee.toldSampled)
            var sampled: Int32 = 0
            shard.pointee.storage.forEachSlot { slot in
                let info = shard.pointee.storage.view[slot].pointee.info
                if SampledUses.includes(shard.pointee.storage.hash(of: slot)), shard.pointee.maySample(info) {
                    sampled += 1
                }
            }
            #expect(shard.pointee.sampled == sampled)
        }
        #expect(engine.learner?.rival.held == told)
        engine.removeAll()
        #expect(engine.learner?.rival.held == 0)
        #expect(engine.learner?.rival.shadow.count == 0)
        // Uses are told of in portions. What a shard has not told of is told at the latest when all is removed.
        for count in 1000..<1020 {
            for key in 0..<count { engine.setValue(key, forKey: key) }
            for key in 0..<count { engine.removeValue(forKey: key) }
            engine.removeAll()
            #expect(engine.learner?.rival.shadow.count == 0)
        }
    }
}

extension CacheEngine {
    /// What the cache has learned; nil before the first access.
    var learner: PolicyLearner? {
        var learner: PolicyLearner?
        forEachShard { learner = $0.pointee.policy.pointee.learner }
        return learner
    }
}
