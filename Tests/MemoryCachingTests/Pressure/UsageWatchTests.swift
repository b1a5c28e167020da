//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing

@testable import MemoryCaching

@Suite struct UsageWatchTests {
    private static let millisecond: UInt64 = 1_000_000

    private func look(_ mebibytes: Int) -> AdmissionLedger.Look { .init(limit: 256 << 20, used: mebibytes << 20) }

    @Test func whatInsertionsExplainIsNoBurst() {
        var watch = UsageWatch()
        var isBurst = false
        for step in 0..<10 {
            isBurst = watch.note(
                look(217 + step),
                inserted: step << 20,
                unreported: 0,
                now: UInt64(step) * Self.millisecond
            )
            #expect(!isBurst)
        }
        isBurst = watch.note(look(229), inserted: 10 << 20, unreported: 0, now: 10 * Self.millisecond)
        #expect(isBurst)
        // Credits that were granted may have been spent.
        isBurst = watch.note(look(232), inserted: 11 << 20, unreported: 2 << 20, now: 11 * Self.millisecond)
        #expect(!isBurst)
    }

    @Test func farFromTheMarkOrSlowlyIsNoBurst() {
        var watch = UsageWatch()
        var isBurst = watch.note(look(100), inserted: 0, unreported: 0, now: 0)
        #expect(!isBurst)
        isBurst = watch.note(look(150), inserted: 0, unreported: 0, now: Self.millisecond)
        #expect(!isBurst)
        isBurst = watch.note(look(220), inserted: 0, unreported: 0, now: 2 * Self.millisecond)
        #expect(isBurst)
        isBurst = watch.note(look(222), inserted: 0, unreported: 0, now: 10 * Self.millisecond)
        #expect(!isBurst)
    }

    /// Grants are taken back where usage rises beyond the play, at every look that finds it higher, and not where it
    /// stays there because the allocator cannot return what was evicted.
    @Test func grantsAreTakenBackOnlyWhileUsageRises() {
        var watch = UsageWatch()
        let marks = look(0).marks
        func exceeds(_ used: Int) -> Bool { watch.exceedsPlay(.init(limit: 256 << 20, used: used)) }
        let far = marks.mark + marks.play
        #expect(!exceeds(marks.mark) && !exceeds(far))
        #expect(exceeds(far + 4096) && exceeds(far + 8192))
        for _ in 0..<100 { #expect(!exceeds(far + 8192) && !exceeds(far + 4096)) }
        #expect(exceeds(far + 12_288))
        // Not below the mark meanwhile: the same stay there.
        #expect(!exceeds(marks.mark + 1) && !exceeds(far + 12_288))
        #expect(!exceeds(marks.mark) && exceeds(far + 4096))
    }

    @Test func looksAreRareWhereNothingMovesAndNeverSoNearTheMark() {
        var watch = UsageWatch()
        for step in 0..<20 as Range<UInt64> {
            _ = watch.note(look(200), inserted: 0, unreported: 0, now: step * 8 * Self.millisecond)
        }
        let near = watch.interval(look(200))
        #expect(near == UsageWatch.longestNearMark)
        let far = watch.interval(look(20))
        #expect(far == 100 * Self.millisecond)
        _ = watch.note(look(201), inserted: 0, unreported: 0, now: 200 * Self.millisecond)
        let moving = watch.interval(look(201))
        #expect(moving == UsageWatch.shortest)
    }

    /// Room is made where usage rests beyond the mark, once for each height: what cannot be returned is not evicted for
    /// again and again.
    @Test func restingBeyondTheMarkIsNoticedOnce() {
        var watch = UsageWatch()
        var moment: UInt64 = 0
        /// How often room is to be made in a second at so much beyond the mark.
        func rests(_ beyond: Int, inserting: Int = 0) -> Int {
            let marks = look(0).marks
            let used = AdmissionLedger.Look(limit: 256 << 20, used: marks.mark + beyond)
            var count = 0
            for _ in 0..<125 {
                moment += 8 * Self.millisecond
                _ = watch.note(used, inserted: inserting * Int(moment), unreported: 0, now: moment)
                if watch.restsBeyondMark(used) { count += 1 }
            }
            return count
        }
        #expect(rests(0) == 0 && rests(1 << 20) == 0)
        #expect(rests(3 << 20, inserting: 1) == 0)
        #expect(rests(3 << 20) == 1 && rests(3 << 20) == 0 && rests(5 << 20) == 1 && rests(4 << 20) == 0)
        #expect(rests(0) == 0 && rests(4 << 20) == 1)
    }
}
