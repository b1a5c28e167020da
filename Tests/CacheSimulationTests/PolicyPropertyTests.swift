//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import CacheSimulation

@Suite("Policies over generated traces")
struct PolicyPropertyTests {
    static let patterns: [TraceGenerator.Pattern] = [
        .zipf(exponent: 0.9), .drift(exponent: 0.9, period: 20), .shocks(exponent: 1, period: 10_000),
        .scans(exponent: 1, period: 1000, length: 300), .oneHitWonders(exponent: 1, share: 0.4),
        .bursts(exponent: 0.8, period: 40, length: 8), .loop,
    ]

    static func trace(_ pattern: TraceGenerator.Pattern, sized: Bool = false, seed: UInt64) -> IndexedTrace {
        let sizes = sized ? TraceGenerator.Sizes.spread(smallest: 10, largest: 10_000) : .unit
        let requests = TraceGenerator(pattern, keys: 200, sizes: sizes, seed: seed).prefix(3000)
        return IndexedTrace(Trace(name: "\(pattern)", requests))
    }

    @Test("Knowing the future beats everybody", arguments: patterns)
    func bounds(pattern: TraceGenerator.Pattern) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let trace = Self.trace(pattern, seed: seed)
        for capacity in [1, 7, 60] {
            let belady = Simulation.run(.belady, over: trace, capacity: capacity).hits
            // With one size only, BelSize is the optimum of caches that may turn a newcomer away.
            let optimum = Simulation.run(.belSize, over: trace, capacity: capacity).hits
            #expect(optimum >= belady)
            for policy in SimulatedPolicy.allCases {
                let hits = Simulation.run(policy, over: trace, capacity: capacity).hits
                #expect(hits <= optimum, "\(policy) at \(capacity)")
                // These two turn newcomers away.
                if policy != .foundationNSCache, policy != .belSize {
                    #expect(hits <= belady, "\(policy) at \(capacity)")
                }
            }
        }
    }

    @Test("A cache that holds everything misses each key once", arguments: SimulatedPolicy.allCases)
    func everything(policy: SimulatedPolicy) {
        for sized in [false, true] {
            let trace = Self.trace(.zipf(exponent: 0.9), sized: sized, seed: 5)
            // Policies with a queue on trial hold everything only with room to spare.
            let result = Simulation.run(policy, over: trace, capacity: trace.footprint * 12)
            #expect(result.misses == trace.keys.count)
            #expect(result.requests == trace.requests.count)
        }
    }

    @Test("No policy ever holds more than its capacity", arguments: patterns)
    func capacity(pattern: TraceGenerator.Pattern) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        for sized in [false, true] {
            let trace = Self.trace(pattern, sized: sized, seed: seed)
            for capacity in sized ? [9, 20_000] : [1, 2, 50] {
                var setting = PolicySetting(capacity: capacity, trace: trace)
                setting.nextPositions = trace.nextPositions()
                check(FIFOPolicy(setting), setting)
                check(LRUPolicy(setting), setting)
                check(ARCPolicy(setting), setting)
                check(SIEVEPolicy(setting), setting)
                check(S3FIFOPolicy(setting), setting)
                check(WTinyLFUPolicy(setting), setting)
                check(GDSFPolicy(setting), setting)
                check(FoundationNSCachePolicy(setting), setting)
                check(LazyGreedyDualReference(setting), setting)
                check(BeladyPolicy(setting), setting)
                check(BelSizePolicy(setting), setting)
                check(MemoryCachePolicy(setting), setting)
            }
        }
    }

    private func check<Policy: CachePolicy>(_ policy: Policy, _ setting: PolicySetting) {
        var cache = policy
        var most = 0
        for (position, key) in setting.trace.requests.enumerated() {
            _ = cache.request(Int(key), at: position)
            most = max(most, cache.used)
        }
        #expect(most <= setting.capacity, "\(Policy.self)")
    }
}

@Suite("The product against LRU")
struct ProductAgainstLRUTests {
    /// Requests enough for the smallest difference to be none of chance.
    static let requests = 20_000

    @Test(
        "At most 1.01 × LRU's misses in this traffic, 1.02 × where there is room for two entries",
        arguments: PolicyPropertyTests.patterns,
        [1, 2, 10, 100]
    )
    func neverWorse(pattern: TraceGenerator.Pattern, capacity: Int) {
        for sized in capacity < 100 ? [false] : [false, true] {
            let sizes = sized ? TraceGenerator.Sizes.spread(smallest: 100, largest: 10_000) : .unit
            let requests = TraceGenerator(pattern, keys: 2000, sizes: sizes, seed: 11).prefix(Self.requests)
            let trace = IndexedTrace(Trace(name: "", requests))
            // The mean size of the spread is about 2,150 bytes.
            let capacity = sized ? capacity * 2150 : capacity
            let lru = Simulation.run(.lru, over: trace, capacity: capacity).misses
            // In two places there is not much to learn from; measured: 1.0103 at worst.
            let bound = capacity == 2 ? 1.02 : 1.01
            let misses = Simulation.run(.memoryCache, over: trace, capacity: capacity).misses
            #expect(
                Double(misses) <= bound * Double(lru),
                "\(misses) misses, LRU \(lru)\(sized ? ", sized" : "")"
            )
        }
    }

    /// Larger caches, which learn as slowly as they turn over. Where all keys change at once, what was kept of the last
    /// ones for their hits is what LRU would have given up, until the weights have followed; measured: 1.031 × LRU's
    /// misses and, where the popular keys fill the cache between two changes, 1.072.
    static let large: [(pattern: TraceGenerator.Pattern, keys: Int, bound: Double)] = [
        (.drift(exponent: 0.9, period: 10), 20_000, 1.01),
        (.scans(exponent: 0.9, period: 10_000, length: 2000), 20_000, 1.01),
        (.bursts(exponent: 0.8, period: 20, length: 6), 20_000, 1.01),
        (.shocks(exponent: 1, period: 2000), 10_000, 1.01),
        (.shocks(exponent: 0.9, period: 10_000), 20_000, 1.04),
        (.shocks(exponent: 1, period: 10_000), 10_000, 1.08),
    ]

    @Test("2,000 entries: at most 1.01 × LRU's misses, a little more where all keys change at once", arguments: large)
    func largeCaches(pattern: TraceGenerator.Pattern, keys: Int, bound: Double) {
        let trace = IndexedTrace(Trace(name: "", TraceGenerator(pattern, keys: keys, seed: 7).prefix(100_000)))
        let lru = Simulation.run(.lru, over: trace, capacity: 2000).misses
        let misses = Simulation.run(.memoryCache, over: trace, capacity: 2000).misses
        #expect(Double(misses) <= bound * Double(lru), "\(misses) misses, LRU \(lru)")
    }

    @Test("Costs are heeded: less is spent on misses than by LRU")
    func costs() {
        let sizes = TraceGenerator.Sizes.spread(smallest: 100, largest: 10_000)
        let requests = TraceGenerator(.zipf(exponent: 0.8), keys: 2000, sizes: sizes, seed: 3).prefix(Self.requests)
        let trace = IndexedTrace(Trace(name: "", requests), costs: .a)
        let lru = Simulation.run(.lru, over: trace, capacity: trace.footprint / 10).costMissRatio
        let product = Simulation.run(.memoryCache, over: trace, capacity: trace.footprint / 10).costMissRatio
        #expect(product < 0.8 * lru)
    }
}

@Suite("The product against its algorithm, written down plainly")
struct ProductAgainstReferenceTests {
    enum Values: CaseIterable { case alike, ofAllSizes, ofAllSizesAndCosts }

    @Test("It spends as much on misses", arguments: PolicyPropertyTests.patterns, Values.allCases)
    func sameMisses(pattern: TraceGenerator.Pattern, values: Values) {
        let sized = values != .alike
        let sizes = sized ? TraceGenerator.Sizes.spread(smallest: 100, largest: 10_000) : .unit
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let requests = TraceGenerator(pattern, keys: 4000, sizes: sizes, seed: seed).prefix(40_000)
        let trace = IndexedTrace(Trace(name: "", requests), costs: values == .ofAllSizesAndCosts ? .a : .none)
        for entries in [20, 200, 1000] {
            let capacity = sized ? entries * 2150 : entries
            let setting = PolicySetting(capacity: capacity, trace: trace, weighsCosts: trace.hasCosts)
            var reference = LazyGreedyDualReference(setting)
            // Where all costs are 1, what is spent is how many misses there are. Where they are not, that number is no
            // aim of either: it differed by up to 10 % in 11,550 runs, and once by 12 %.
            let expected = trace.requests.enumerated().reduce(into: 0.0) { spent, request in
                let key = Int(request.element)
                if !reference.request(key, at: request.offset) { spent += trace.costs[key] }
            }
            let spent = Simulation.run(.memoryCache, over: trace, capacity: capacity).missCost
            // The order of equals and the rounding of stays differ, and only the product learns faster while LRU is
            // ahead: that saved up to 5 % of the misses in 300 simulated runs with shocks. Before that, 737 runs
            // without costs gave .981 to 1.027, and in a loop of values of all sizes, where each early miss moves all
            // later ones, to 1.172. The 11,550 with costs gave .933 to 1.034, with room for 20 entries from .900, and
            // in a loop to 1.154.
            let upper =
                if case .loop = pattern, sized { trace.hasCosts ? 1.25 : 1.5 } else { trace.hasCosts ? 1.06 : 1.1 }
            let lower = trace.hasCosts && entries == 20 ? 0.85 : 0.9
            let ratio = spent / expected
            #expect(ratio > lower && ratio < upper, "\(spent) spent, \(expected) expected, capacity \(capacity)")
        }
    }
}
