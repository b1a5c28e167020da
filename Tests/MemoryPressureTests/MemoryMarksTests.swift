//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing

@Suite struct MemoryMarksTests {
    @Test("The marks lie in their order, whatever the limit and the reserve", arguments: [0, 20, 28, 33, 50, 100])
    func order(reserved percent: Int) {
        for limit in [1, 63, 64, 1000, 256 << 20, (256 << 20) + 77, 1 << 40, .max] {
            let marks = MemoryMarks(limit: limit, reserve: limit / 100 * percent)
            #expect(marks.near <= marks.goal && marks.goal <= marks.mark, "\(marks)")
            #expect(marks.mark <= marks.halfway && marks.halfway <= marks.brink && marks.brink <= limit, "\(marks)")
            #expect(marks.warning <= marks.critical && marks.critical <= limit, "\(marks)")
            #expect(marks.ample <= marks.near && marks.watched <= marks.mark, "\(marks)")
            #expect(marks.reserve >= MemoryMarks.leastReserve(limit) && marks.leastRelief <= marks.play, "\(marks)")
        }
    }

    @Test("Insertions at the mark raise no level, and leave one that usage has raised")
    func levels() {
        let marks = MemoryMarks(limit: 256 << 20)
        #expect(marks.mark + marks.play < marks.warning - marks.levelMargin)
    }

    @Test("The mark is what it is for 256 MiB")
    func figures() {
        let marks = MemoryMarks(limit: 256 << 20)
        #expect(marks.ample == 160 << 20 && marks.watched == 168 << 20 && marks.near == 208 << 20)
        #expect(marks.goal == 216 << 20 && marks.mark == 224 << 20 && marks.halfway == 232 << 20)
        #expect(marks.brink == 240 << 20 && marks.warning == 240 << 20 && marks.critical == 248 << 20)
        #expect(marks.last == 248 << 20 && marks.play == 4 << 20 && marks.leastStep == 4 << 20)
        #expect(marks.leastRelief == 2 << 20 && marks.levelMargin == 8 << 20)
    }
}
