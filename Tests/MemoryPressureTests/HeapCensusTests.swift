//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Testing

@Suite struct HeapCensusTests {
    @Test func whatIsFreeAndNotResidentIsNoHole() {
        #expect(HeapCensus(live: 100, unused: 50, resident: 150) == HeapCensus(held: 100, holes: 50))
        // Trimmed: free still, but the kernel has the pages.
        #expect(HeapCensus(live: 100, unused: 50, resident: 110) == HeapCensus(held: 100, holes: 10))
        // Mapped by others: resident, but not the allocator's.
        #expect(HeapCensus(live: 100, unused: 50, resident: 400) == HeapCensus(held: 350, holes: 50))
        #expect(HeapCensus(live: 100, unused: 0, resident: 0) == HeapCensus(held: 100, holes: 0))
        // Pages of purgeable values are held, and told apart; also those that the kernel has taken.
        #expect(
            HeapCensus(live: 100, unused: 50, resident: 400, pages: 200)
                == HeapCensus(held: 350, holes: 50, heldBesidePages: 150)
        )
        #expect(
            HeapCensus(live: 100, unused: 50, resident: 400, pages: 900)
                == HeapCensus(held: 350, holes: 50, heldBesidePages: 100)
        )
    }

    /// The real allocator: what is given out is held, and what is freed between others is a hole.
    @Test func theAllocatorTellsHoldingsFromHoles() throws {
        let before = try #require(HeapCensus.take(), "an allocator that says nothing of itself")
        var blocks: [[UInt8]?] = (0..<40_000).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 1000) }
        let full = try #require(HeapCensus.take())
        #expect(full.held - before.held > 35_000_000)
        for index in stride(from: 0, to: blocks.count, by: 2) { blocks[index] = nil }
        let half = try #require(HeapCensus.take())
        #expect(full.held - half.held > 17_000_000)
        #expect(half.holes - full.holes > 15_000_000)
        #expect(blocks.count == 40_000)
    }
}
