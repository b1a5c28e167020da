//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Which of several caches the governor takes from, whatever they are ordered by.
@Suite struct SharedClockTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var first: CacheOrdering
        var second: CacheOrdering
        var cost: Int
        var testDescription: String { "\(first) and \(second), cost \(cost)" }
    }

    static let cases: [Case] = [0, 100].flatMap { cost in
        [
            Case(first: .worth, second: .worth, cost: cost), Case(first: .worth, second: .reuse, cost: cost),
            Case(first: .reuse, second: .worth, cost: cost), Case(first: .reuse, second: .reuse, cost: cost),
        ]
    }

    let governor = PressureReactionTests.governor(ManualPressureSignal())

    func engine(_ ordering: CacheOrdering) -> CacheEngine<Int, Int> {
        CacheEngine<Int, Int>(ordering: ordering, governor: governor)
    }

    /// Evicts about `entries` of `cost`, from whichever cache the governor chooses.
    func evict(_ entries: Int, cost: Int, as engine: CacheEngine<Int, Int>) {
        governor.evict(entries * (cost > 0 ? cost : engine.bytesPerCostlessEntry))
    }

    @Test(arguments: cases)
    func cachesOfOneLoadShrinkAlike(_ test: Case) {
        let (first, second) = (engine(test.first), engine(test.second))
        var key = 0
        func insert(_ count: Int) {
            for _ in 0..<count {
                first.setValue(key, forKey: key, cost: test.cost)
                second.setValue(key, forKey: key, cost: test.cost)
                key += 1
            }
        }
        insert(6000)
        for round in 0..<120 {
            insert(300)
            evict(600, cost: test.cost, as: first)
            let counts = [first.count, second.count]
            #expect(counts.min()! >= 2000, "\(counts) in round \(round)")
            if counts.min()! < 2000 { return }
        }
    }

    @Test(arguments: cases)
    func whatIsUnusedGoesBeforeWhatComesIn(_ test: Case) {
        let (idle, busy) = (engine(test.first), engine(test.second))
        for key in 0..<6000 {
            idle.setValue(key, forKey: key, cost: test.cost)
            busy.setValue(key, forKey: key, cost: test.cost)
        }
        for round in 0..<60 {
            for key in 0..<300 { busy.setValue(key, forKey: 6000 + round * 300 + key, cost: test.cost) }
            evict(300, cost: test.cost, as: busy)
        }
        #expect(idle.count < 600 && busy.count > 11_000, "\(idle.count) and \(busy.count)")
    }
}
