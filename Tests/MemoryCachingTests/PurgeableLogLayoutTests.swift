//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite struct PurgeableLogLayoutTests {
    /// Walks an item part by part and says what it found, as the copying does.
    private func parts(start: Int, byteCount: Int) -> [(tagAt: Int, count: Int)] {
        var parts: [(Int, Int)] = []
        var offset = start
        var done = 0
        repeat {
            let count = min(byteCount - done, ItemLayout.room(at: offset))
            parts.append((offset, count))
            done += count
            offset += ItemLayout.tagBytes + count
        } while done < byteCount
        return parts
    }

    @Test func everyPageOfAnItemBeginsItsPartWithATag() {
        for byteCount in [
            0, 1, 7, 8, 63, 64, 504, 505, 512, 2039, 2040, 2041, 4087, 4088, 4089, 8175, 8176, 8177, 20_000, 65_535,
        ] {
            for from in stride(from: 0, through: 3 * 4096, by: 8) {
                let start = ItemLayout.start(from: from, byteCount: byteCount)
                let end = ItemLayout.end(start: start, byteCount: byteCount)
                let parts = parts(start: start, byteCount: byteCount)
                #expect(start >= from && start & 7 == 0 && end & 7 == 0)
                #expect(start - from < 4096)
                #expect(parts.allSatisfy { $0.tagAt & 7 == 0 })
                #expect(parts.dropFirst().allSatisfy { $0.tagAt & 4095 == 0 })
                #expect(parts.reduce(0) { $0 + $1.count } == byteCount)
                let last = parts.last!
                #expect(end == (last.tagAt + ItemLayout.tagBytes + last.count + 7) & ~7)
                #expect(
                    Array(ItemLayout.pages(start: start, byteCount: byteCount)) == parts.map { $0.tagAt / 4096 },
                    "one part a page"
                )
                if byteCount + 8 <= ItemLayout.straddleFreeBytes { #expect(parts.count == 1) }
            }
        }
    }

    /// What is lost to page ends, tags and rounding, in a row of items of one size: a ninth at most, and little of it
    /// for items that straddle.
    @Test(arguments: [100, 504, 505, 512, 1000, 1024, 1400, 2040, 2041, 3000, 4088, 10_000])
    func pagesAreFull(byteCount: Int) {
        var offset = 0
        for _ in 0..<1000 {
            offset = ItemLayout.end(start: ItemLayout.start(from: offset, byteCount: byteCount), byteCount: byteCount)
        }
        let most =
            byteCount + ItemLayout.tagBytes <= ItemLayout.straddleFreeBytes ? 9.0 / 8 : 1 + 24.0 / Double(byteCount)
        #expect(Double(offset) / 1000 <= Double(byteCount + 8) * most, "\(Double(offset) / 1000)")
    }

    @Test func locationsKeepTheirFields() {
        let location = LogLocation(segment: 262_143, generation: 65_535, offset: (1 << 20) - 8, byteCount: 65_535)
        #expect(location.segment == 262_143)
        #expect(location.generation == 1023)
        #expect(location.offset == (1 << 20) - 8)
        #expect(location.byteCount == 65_535)
        #expect(!location.isLarge && !location.isReferenced)
        let marked = LogLocation(word: location.word | LogLocation.referencedBit)
        #expect(marked.isReferenced && marked.unreferenced == location)
        #expect(LogLocation(segment: 0, generation: 1024, offset: 0, byteCount: 0).word != 0)
    }

    @Test func livesAddUpAndNeverReachGenerationZero() {
        var life = Life(generation: .max, items: 0, bytes: 0)
        life.word += Life.amount(items: 131_072, bytes: 1 << 20)
        #expect(life.generation == .max && life.items == 131_072 && life.bytes == 1 << 20)
        #expect(life.next == Life(generation: 1, items: 0, bytes: 0))
        life.word |= Life.sealedBit
        #expect(life.isSealed && life.generation == .max && life.items == 131_072 && life.bytes == 1 << 20)
        #expect(!life.next.isSealed)
        #expect(ItemLayout.tag(generation: 1, hash48: 0) != 0)
    }
}
