//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Worth in any unit, and worth that changes by nine orders of magnitude.
@Suite("Engine: worth of every size")
struct EngineWorthTests {
    enum Departure: CaseIterable { case oneTrimmed, allTrimmed, allRemoved, limitLowered }

    /// L leaps when an entry of great worth goes. Beside it stays were lost in the heights, so that the order was that
    /// of the queues' numbers; the ghosts' clock stood still; and the mean worth took 3,300 insertions to follow. 300
    /// places then missed 99 % of the requests for good, where LRU missed 25 %.
    @Test("values of ordinary worth are kept as if there had been no dearer ones", arguments: Departure.allCases)
    func dearValuesBefore(departure: Departure) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let capacity = 300
        let engine = CacheEngine<Int, Int>(countLimit: capacity)
        for key in 1...(departure == .oneTrimmed ? 1 : capacity + 1) {
            engine.setValue(key, forKey: -key, cost: 1, recomputeCost: 1e9)
        }
        switch departure {
        case .oneTrimmed, .allTrimmed: engine.trim(toCount: 0)
        case .allRemoved: engine.removeAll()
        case .limitLowered:
            engine.countLimit = 1
            engine.countLimit = capacity
        }
        let others = CacheEngine<Int, Int>(countLimit: capacity)
        let (misses, due) = (lateMisses(of: engine, capacity, seed), lateMisses(of: others, capacity, seed))
        #expect(Double(misses) < 1.15 * Double(due), "\(misses) misses, \(due) without the dear values")
        engine._checkInvariants()
    }

    /// Misses after three of six sets of keys: of 80 % of the requests a set of .6 of the places, replaced each 40
    /// turnovers, and of the others keys that are asked for once.
    private func lateMisses(of engine: CacheEngine<Int, Int>, _ capacity: Int, _ seed: UInt64) -> Int {
        var random = SplitMix64(seed: seed)
        var misses = 0
        for request in 0..<6 * 40 * capacity {
            let set = request / (40 * capacity)
            let isOfSet = Int.random(in: 0..<5, using: &random) > 0
            let key =
                isOfSet ? set << 20 + Int.random(in: 0..<capacity * 3 / 5, using: &random) : 1 << 40 + request
            if engine.value(forKey: key) == nil {
                if set >= 3 { misses += 1 }
                engine.setValue(key, forKey: key)
            }
        }
        return misses
    }

    /// A millisecond for 16 MiB, in seconds, is 2⁻³⁴ a byte. Below 2⁻³² all were taken for equals.
    @Test("recompute costs may be in seconds, nanoseconds or days", arguments: [1.0, 1e9, 1.0 / 86_400])
    func units(perSecond: Double) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let (capacity, bytes) = (200, 256 << 20)
        let engine = CacheEngine<Int, Int>(totalCostLimit: capacity * bytes)
        var (paid, due) = (0.0, 0.0)
        for request in 0..<200 * capacity {
            let key = Int.random(in: 0..<2 * capacity, using: &random)
            let seconds = key % 2 == 0 ? 40e-3 : 1e-3
            // Half of all keys fit. Were all of one worth, half of the requests would miss.
            if request > 20 * capacity { due += seconds / 2 }
            guard engine.value(forKey: key) == nil else { continue }
            if request > 20 * capacity { paid += seconds }
            engine.setValue(key, forKey: key, cost: bytes, recomputeCost: seconds * perSecond)
        }
        // Measured: .06.
        #expect(paid < 0.2 * due, "\(paid) s were paid, and \(due) s if nobody looked at worth")
        engine._checkInvariants()
    }

    /// Worths at both ends of what densities tell apart, in whichever proportion: the evidence is kept in numbers that
    /// reach to 2¹²⁷.
    @Test("what is learned from extreme worths are numbers", arguments: [1, 9, 50, 91, 99], [true, false])
    func extremeWorths(percentOfDear: Int, isDearUsedAgain: Bool) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(countLimit: 200)
        for request in 0..<60_000 {
            let isDear = Int.random(in: 0..<100, using: &random) < percentOfDear
            let isUsedAgain = isDear == isDearUsedAgain
            let key = (isUsedAgain ? Int.random(in: 0..<300, using: &random) : 1000 + request) * 2 + (isDear ? 1 : 0)
            guard engine.value(forKey: key) == nil else { continue }
            engine.setValue(key, forKey: key, cost: 1, recomputeCost: isDear ? 0x1p62 : 0x1p-62)
            let learner = try #require(engine.learner)
            let learned = [learner.exponent, learner.meanDensity] + (0..<4).map { Double(learner.classWeights[$0]) }
            let areNumbers = learned.allSatisfy { $0.isFinite }
            try #require(areNumbers, "\(learned)")
        }
        engine._checkInvariants()
    }

    /// A process that is forked between an eviction and the return of its room would have lost the room: its next
    /// insertion of a whole limit would look for it for ever. So the eviction itself returns it, and no caller does.
    @Test("what a trim evicts returns its room")
    func roomIsReturned() {
        let engine = CacheEngine<Int, Int>(totalCostLimit: 1000)
        for key in 0..<100 { engine.setValue(key, forKey: key, cost: 10) }
        var departures = EntryDepartures<Int, Int>()
        guard case .evicted(cost: 10) = engine.evictOne(cause: .costLimit, givingBack: true, into: &departures) else {
            Issue.record("nothing was evicted")
            return
        }
        #expect(engine.entryCount == 99)
        engine._checkInvariants()
        engine.finish(departures)
    }
}
