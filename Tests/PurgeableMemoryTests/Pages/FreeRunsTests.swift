//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import PurgeableMemory

@Suite struct FreeRunsTests {
    @Test func takesTheWholeSlotAndNoMore() {
        var runs = FreeRuns()
        let slot = runs.addSlot(unitCount: 100)
        #expect(runs.take(101) == nil)
        let first = runs.take(100)
        #expect(first == 0)
        #expect(runs.take(1) == nil)
        #expect(runs.freeUnits(ofSlot: slot) == 0)
        runs.give(0, count: 100)
        #expect(runs.freeUnits(ofSlot: slot) == 100)
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [0, 2, 1], [2, 0, 1]])
    func mergesNeighboursInAnyOrder(order: [Int]) {
        var runs = FreeRuns()
        _ = runs.addSlot(unitCount: 9)
        let parts = [runs.take(2)!, runs.take(3)!, runs.take(4)!]
        for index in order { runs.give(parts[index], count: [2, 3, 4][index]) }
        #expect(runs.take(9) != nil, "three merged runs are one again")
    }

    @Test func removedSlotNumbersAreUsedAgain() {
        var runs = FreeRuns()
        #expect(runs.addSlot(unitCount: 4) == 0)
        #expect(runs.addSlot(unitCount: 4) == 1)
        runs.removeSlot(0)
        #expect(runs.take(4) == 1 << FreeRuns.unitBits)
        #expect(runs.take(1) == nil)
        #expect(runs.addSlot(unitCount: FreeRuns.unitsPerSlot) == 0)
        #expect(runs.take(FreeRuns.unitsPerSlot) == 0)
    }

    @Test func neverDealsAUnitTwiceAndLosesNone() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        var runs = FreeRuns()
        let sizes = [FreeRuns.unitsPerSlot, 1000, 77]
        for size in sizes { _ = runs.addSlot(unitCount: size) }
        var held: [(first: UInt32, count: Int)] = []
        var owned = Set<UInt32>()
        for _ in 0..<20_000 {
            if Bool.random(using: &random) || held.isEmpty {
                let count = Int.random(
                    in: 1...(Int.random(in: 0..<10, using: &random) == 0 ? 3000 : 20),
                    using: &random
                )
                guard let first = runs.take(count) else { continue }
                let end = FreeRuns.offset(of: first) + count
                #expect(end <= sizes[FreeRuns.slot(of: first)])
                for unit in first..<first + UInt32(count) { #expect(owned.insert(unit).inserted) }
                held.append((first, count))
            } else {
                let run = held.remove(at: Int.random(in: 0..<held.count, using: &random))
                for unit in run.first..<run.first + UInt32(run.count) { owned.remove(unit) }
                runs.give(run.first, count: run.count)
            }
        }
        for run in held { runs.give(run.first, count: run.count) }
        for (slot, size) in sizes.enumerated() {
            #expect(runs.freeUnits(ofSlot: slot) == size)
            runs.removeSlot(slot)
        }
    }
}
