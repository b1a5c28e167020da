//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing

@testable import MemoryCaching

@Suite struct ReliefPacingTests {
    private func look(_ mebibytes: Int) -> AdmissionLedger.Look { .init(limit: 256 << 20, used: mebibytes << 20) }

    @Test func whatBringsLittleIsTriedAgainWhenUsageHasRisenOrAfterAPause() {
        var pacing = ReliefPacing()
        #expect(pacing.mayHelp(look(236), now: 0))
        pacing.tried(look(236), bringing: 1 << 20, from: 0, to: 1000)
        #expect(!pacing.mayHelp(look(236), now: 1000) && !pacing.mayHelp(look(230), now: 1000))
        // As far as it is worth an attempt of its own: a 128th of the limit.
        #expect(!pacing.mayHelp(look(238), now: 1000) && pacing.mayHelp(look(239), now: 1000))
        #expect(!pacing.mayHelp(look(236), now: 999 + ReliefPacing.pause))
        #expect(pacing.mayHelp(look(236), now: 1000 + ReliefPacing.pause))
        // In the last thirty-second nothing waits.
        #expect(pacing.mayHelp(look(248), now: 1000))
        pacing.tried(look(236), bringing: 2 << 20, from: 0, to: 2000)
        #expect(pacing.mayHelp(look(236), now: 2000))
    }

    @Test func itTakesATenthOfTheTimeAtMost() {
        var pacing = ReliefPacing()
        let took: UInt64 = 50_000_000
        pacing.tried(look(236), bringing: 0, from: 0, to: took)
        #expect(!pacing.mayHelp(look(236), now: 10 * took - 1) && pacing.mayHelp(look(236), now: 10 * took))
        // However long a stopped process took.
        pacing.tried(look(236), bringing: 0, from: 0, to: 3_600_000_000_000)
        #expect(pacing.mayHelp(look(236), now: 3_610_000_000_000))
    }

    @Test func belowTheMarkEverythingBeginsAnew() {
        var pacing = ReliefPacing()
        let marks = look(0).marks
        pacing.tried(look(236), bringing: 0, from: 0, to: 1000)
        pacing.note(.init(limit: marks.limit, used: marks.mark + 4096))
        #expect(!pacing.mayHelp(look(236), now: 2000))
        pacing.note(.init(limit: marks.limit, used: marks.mark))
        #expect(pacing.mayHelp(look(236), now: 2000))
    }

    @Test func aClockThatJumpsBackPutsNothingOff() {
        var pacing = ReliefPacing()
        pacing.tried(look(236), bringing: 0, from: 5_000_000_000, to: 1_000_000_000)
        #expect(pacing.mayHelp(look(236), now: 500_000_000))
        #expect(!pacing.mayHelp(look(236), now: 1_000_000_001))
    }
}
