//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import MemoryCaching

@Suite struct CensusPacingTests {
    private static let urgencies: [CensusPacing.Urgency] = [.usual, .announced, .decisive, .brink]
    private static let millisecond: UInt64 = 1_000_000

    @Test func takesATwentiethOfTheTimeAndHalfOfItAtTheBrink() {
        var pacing = CensusPacing()
        func begins(_ milliseconds: UInt64, _ urgency: CensusPacing.Urgency) -> Bool {
            pacing.begins(at: milliseconds * Self.millisecond, urgency)
        }
        #expect(begins(0, .usual))
        pacing.finished(at: 10 * Self.millisecond)
        #expect(!begins(199, .usual))
        #expect(!begins(199, .announced))
        #expect(!begins(19, .brink))
        #expect(begins(20, .brink))
        pacing.finished(at: 20 * Self.millisecond)
        #expect(!begins(24, .brink) && !begins(24, .announced))
        #expect(begins(20, .decisive))
        pacing.finished(at: 20 * Self.millisecond)
        #expect(begins(25, .announced))
        pacing.finished(at: 25 * Self.millisecond)
        #expect(!begins(124, .usual))
        #expect(begins(125, .usual))
    }

    /// Two threads: the second begins between the moment at which the first has done and its taking note of that.
    @Test(arguments: urgencies) func whoBeginsBeforeAnotherHasTakenNotePutsNothingOffForEver(
        urgency: CensusPacing.Urgency
    ) {
        var pacing = CensusPacing()
        let begins = [
            pacing.begins(at: 1000 * Self.millisecond, urgency), pacing.begins(at: 1200 * Self.millisecond, urgency),
        ]
        #expect(begins == [true, true])
        pacing.finished(at: 1199 * Self.millisecond)
        pacing.finished(at: 1210 * Self.millisecond)
        let isSoon = pacing.begins(at: 1211 * Self.millisecond, urgency)
        let isLater = pacing.begins(at: 1500 * Self.millisecond, urgency)
        #expect(!isSoon && isLater)
    }

    /// The same, and the second never takes note: its thread has been stopped.
    @Test(arguments: urgencies) func oneThatNeverEndsPutsNothingOffForEver(urgency: CensusPacing.Urgency) {
        var pacing = CensusPacing()
        let begins = [
            pacing.begins(at: 1000 * Self.millisecond, urgency), pacing.begins(at: 1200 * Self.millisecond, urgency),
        ]
        pacing.finished(at: 1199 * Self.millisecond)
        let isLater = pacing.begins(at: 1301 * Self.millisecond, urgency)
        #expect(begins == [true, true] && isLater)
    }

    @Test func aClockThatJumpsBackPutsNothingOff() {
        var pacing = CensusPacing()
        let begins = pacing.begins(at: 5000 * Self.millisecond, .brink)
        pacing.finished(at: 1000 * Self.millisecond)
        let isLater = pacing.begins(at: 1001 * Self.millisecond, .brink)
        #expect(begins && isLater)
    }
}
