//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Caches whose entries have sizes that nobody told, and a process that holds them and more.
@Suite("Sizes: what the process holds, divided among its caches")
struct HeldBytesTests {
    /// An estimate that has been led to `size`, right or wrong.
    private func estimate(of size: Double) -> InsertionEstimate {
        var estimate = InsertionEstimate()
        for _ in 0..<40 {
            estimate.learn(insertions: 4096, costs: 0, growth: Int(4096 * size), isUndisturbed: true)
        }
        estimate.correct(held: 1000 * size, entries: 1000, costs: 0)
        return estimate
    }

    /// Moves caches of the `true` sizes by `rounds` censuses, while the entries of each vary between `entries`.
    private func census(
        _ estimates: inout [InsertionEstimate],
        sizes: [Double],
        others: Double,
        rounds: Int,
        entries: ClosedRange<Int>,
        using random: inout SplitMix64
    ) {
        var heldBytes = HeldBytes()
        for _ in 0..<rounds {
            var holdings = estimates.map {
                HeldBytes.Holding(estimate: $0, entries: Int.random(in: entries, using: &random), costs: 0)
            }
            // A census is no snapshot: it errs by a hundredth.
            let entriesHold = zip(holdings, sizes).reduce(0.0) { $0 + Double($1.0.entries) * $1.1 }
            let held = others + entriesHold * Double.random(in: 0.99...1.01, using: &random)
            heldBytes.correct(&holdings, held: Int(held), before: Int(others))
            estimates = holdings.map(\.estimate)
        }
    }

    @Test("Of equal caches none is taken for much less or more than it holds, however wrong the estimates were")
    func equalCaches() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for count in [2, 3, 10, 40] {
            var estimates = (0..<count).map { estimate(of: $0 == 0 ? 138_380 : 64) }
            census(
                &estimates,
                sizes: Array(repeating: 4200, count: count),
                // Less than the fewest entries hold. Where what was there before is more, only half of all is taken for
                // it, and a census of few entries says more than they hold.
                others: Double(count) * 1e6,
                rounds: 100 * count,
                entries: 300...3000,
                using: &random
            )
            for estimate in estimates {
                #expect((2100...8400).contains(estimate.residentBytes), "of \(count): \(estimate.residentBytes)")
                #expect((2100...10_500).contains(estimate.bytes), "of \(count): \(estimate.bytes)")
            }
        }
    }

    @Test("Caches of different sizes are told apart by how their shares vary")
    func differentSizes() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let sizes = [500.0, 2000, 8000, 32_000]
        var estimates = sizes.map { _ in estimate(of: 4000) }
        census(&estimates, sizes: sizes, others: 50e6, rounds: 2000, entries: 1000...9000, using: &random)
        for (estimate, size) in zip(estimates, sizes) {
            // A hundredth of what all hold is 900 bytes of each.
            let bounds = max(64, size / 2 - 900)...(size * 2 + 900)
            #expect(bounds.contains(estimate.residentBytes), "\(size): \(estimate.residentBytes)")
        }
    }

    @Test("What was there before the first cache is nobody's, nor what others held when an insertion was measured")
    func others() {
        var heldBytes = HeldBytes()
        var unmeasured = InsertionEstimate()
        unmeasured.bound(by: 1000, entries: 4000)
        var holdings = [HeldBytes.Holding(estimate: unmeasured, entries: 4000, costs: 0)]
        heldBytes.correct(&holdings, held: 1_000_000 + 4000 * 350, before: 1_000_000)
        #expect(holdings[0].estimate.residentBytes == 350)
        // Much of that has gone: the entries are not taken for nothing.
        holdings = [HeldBytes.Holding(estimate: unmeasured, entries: 4000, costs: 0)]
        heldBytes.correct(&holdings, held: 4000 * 350, before: 100_000_000)
        #expect(holdings[0].estimate.residentBytes == 175)

        // Measured anew, with 30 MB more held by others.
        var measured = holdings[0].estimate
        for _ in 0..<40 { measured.learn(insertions: 4096, costs: 0, growth: 4096 * 700, isUndisturbed: true) }
        holdings = [HeldBytes.Holding(estimate: measured, entries: 1000, costs: 0)]
        heldBytes.correct(&holdings, held: 130_000_000 + 1000 * 700, before: 100_000_000)
        #expect(abs(holdings[0].estimate.residentBytes - 700) < 20)
        holdings = [HeldBytes.Holding(estimate: holdings[0].estimate, entries: 4000, costs: 0)]
        heldBytes.correct(&holdings, held: 130_000_000 + 4000 * 350, before: 100_000_000)
        #expect(abs(holdings[0].estimate.residentBytes - 350) < 10)
    }

    @Test("A cache of few entries proves nothing, and takes nothing from the others")
    func fewEntries() {
        var heldBytes = HeldBytes()
        var known = InsertionEstimate()
        known.correct(held: 1000 * 500, entries: 1000, costs: 0)
        var holdings = [
            HeldBytes.Holding(estimate: known, entries: 1000, costs: 0),
            HeldBytes.Holding(estimate: InsertionEstimate(), entries: 255, costs: 0),
        ]
        heldBytes.correct(&holdings, held: 1000 * 500, before: 0)
        #expect(holdings[0].estimate.residentBytes == 500)
        #expect(holdings[1].estimate.bytes == InsertionEstimate.pessimistic)
    }

    /// Beside an announcement, a window of which most was others' had 4,096 bytes of cost taken for 56,000 of memory
    /// again, a moment after the allocator had been asked.
    @Test("What is held bounds what is behind a cost until an insertion is measured")
    func boundOfCosts() {
        var estimate = InsertionEstimate()
        func insert(bytes: Int, _ isUndisturbed: Bool) {
            estimate.learn(insertions: 1024, costs: 1024 * 4096, growth: 1024 * bytes, isUndisturbed: isUndisturbed)
        }
        for _ in 0..<20 { insert(bytes: 8192, true) }
        #expect(abs(estimate.bytesPerCost - 2) < 0.1)
        estimate.correct(held: 103_000_000, entries: 0, costs: 100_000_000)
        #expect(estimate.bytesPerCost == 1.03)
        insert(bytes: 65_536, false)
        #expect(estimate.bytes == 65_536 && estimate.bytesPerCost == 1.03)
        estimate.correct(held: 110_000_000, entries: 0, costs: 100_000_000)
        #expect(estimate.bytesPerCost == 1.1)
        for _ in 0..<20 { insert(bytes: 6144, true) }
        #expect(abs(estimate.bytesPerCost - 1.5) < 0.1)
    }

    @Test("Growth while others insert is no measurement, whoever evicted")
    func sharedWindow() {
        func lesson(charged: Int) -> LearningWindow.Lesson? {
            var window = LearningWindow()
            let estimate = InsertionEstimate()
            func moment(_ used: Int) -> LearningWindow.Moment {
                LearningWindow.Moment(used: used, correction: 0, disturbances: 0)
            }
            if let first = window.question(at: moment(0), by: estimate, unreported: 0) {
                _ = window.answer(first, resident: 0, charged: 0, disturbances: 0)
            }
            window.insert(.init(count: 1024, costs: 0, charged: 64 << 20))
            guard let question = window.question(at: moment(64 << 20), by: estimate, unreported: 0) else { return nil }
            return window.answer(question, resident: 64 << 20, charged: charged, disturbances: 0)
        }
        #expect(lesson(charged: 64 << 20)?.isUndisturbed == true)
        #expect(lesson(charged: 72 << 20)?.isUndisturbed == true)
        #expect(lesson(charged: 80 << 20)?.isUndisturbed == false)
    }
}
