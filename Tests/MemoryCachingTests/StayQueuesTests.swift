//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Policy: the queues of entries")
struct StayQueuesTests {
    /// Entries by slot, as a slab has them.
    private final class Slab {
        let view: SlabView
        private let entries: UnsafeMutablePointer<EntryMeta>

        init(slots: Int) {
            entries = .allocate(capacity: slots)
            entries.initialize(repeating: EntryMeta(info: EntryInfo(bits: 0)), count: slots)
            view = SlabView(base: UnsafeMutableRawPointer(entries), stride: MemoryLayout<EntryMeta>.stride)
        }

        deinit { entries.deallocate() }
    }

    /// Enters an entry that buys a stay of 2 to the power of `octaves` while L is `inflation`.
    private func enqueue(
        _ slot: UInt32,
        _ octaves: Int,
        at inflation: Float,
        into queues: inout StayQueues,
        _ slab: SlabView
    ) {
        let stay = StayCode(Float(sign: .plus, exponent: octaves, significand: 1))
        slab[slot].pointee.info.stay = stay
        slab[slot].pointee.height = inflation + stay.length
        queues.append(slot, in: slab)
    }

    @Test("the window is as long as what the stays need", arguments: [-1, 1], [1, 4, 30])
    func window(direction: Int, step: Int) {
        let slab = Slab(slots: 300)
        var queues = StayQueues()
        defer { queues.deallocate() }
        for number in 0..<(200 / step) {
            enqueue(UInt32(number + 1), direction * (number * step - 90), at: 0, into: &queues, slab.view)
            // Four codes an octave, in steps of 16.
            #expect(queues.capacity <= max(16, min(1024, 4 * (number * step * 4 + 32))))
        }
        // From one end to the other and beyond both.
        for (slot, octaves) in zip(UInt32(250)..., [-100, 100, -1000, 1000, 0]) {
            enqueue(slot, octaves, at: 0, into: &queues, slab.view)
        }
        #expect(queues.capacity <= 1024)
        #expect(queues.leastHeight == 0x1p-100)
    }

    /// After a rebasing L is rounded to a finer step, and may be a little lower than what entries before it were given.
    @Test("a queue is sorted, though heights are rounded")
    func rounded() {
        let slab = Slab(slots: 8)
        var queues = StayQueues()
        defer { queues.deallocate() }
        for (slot, inflation) in [(1, 2), (2, 1.5), (3, 3), (4, 2.5)] as [(UInt32, Float)] {
            enqueue(slot, 0, at: inflation, into: &queues, slab.view)
        }
        func heights(_ slots: [UInt32]) -> [Float] { slots.map { slab.view[$0].pointee.height } }
        #expect(heights([1, 2, 3, 4]) == [3, 3, 4, 4] && queues.leastHeight == 3)
        // From the head, from the middle, and who stands last already.
        for slot in [1, 3, 3] as [UInt32] { queues.moveToEnd(slot, height: 2, in: slab.view) }
        #expect(heights([2, 4, 1, 3]) == [3, 4, 4, 4] && queues.leastHeight == 3)
        queues.moveToEnd(2, height: 9, in: slab.view)
        #expect(heights([4, 1, 3, 2]) == [4, 4, 4, 9] && queues.leastHeight == 4)
    }

    @Test("the least entry is at hand, whichever stays come and go")
    func model() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<40 {
            let slab = Slab(slots: 65)
            var queues = StayQueues()
            defer { queues.deallocate() }
            var held: [UInt32] = []
            var vacant = Array(UInt32(1)...64)
            let (middle, width) = (Int.random(in: -80...80, using: &random), Int.random(in: 0...110, using: &random))
            var inflation: Float = 0
            for _ in 0..<1000 {
                if let slot = vacant.last, held.isEmpty || Bool.random(using: &random) {
                    vacant.removeLast()
                    held.append(slot)
                    let octaves = middle + Int.random(in: -width...width, using: &random)
                    enqueue(slot, octaves, at: inflation, into: &queues, slab.view)
                } else {
                    // A victim as a rule, and anyone at times.
                    let isVictim = Int.random(in: 0..<4, using: &random) > 0
                    let slot = isVictim ? queues.least : held.randomElement(using: &random)!
                    if isVictim { inflation = max(inflation, slab.view[slot].pointee.height) }
                    queues.unlink(slot, in: slab.view)
                    held.removeAll { $0 == slot }
                    vacant.insert(slot, at: 0)
                }
                // Of equals the one of the least code, and of its queue the first.
                let least = held.map { slab.view[$0].pointee.height }.min()
                let lightest = held.filter { slab.view[$0].pointee.height == least }
                    .map { slab.view[$0].pointee.info.stay.rawValue }.min()
                #expect(queues.leastHeight == least ?? .infinity)
                let found = queues.least
                #expect(found == 0 ? held.isEmpty : slab.view[found].pointee.height == least)
                #expect(found == 0 || slab.view[found].pointee.info.stay.rawValue == lightest)
            }
            // Lowered, the same one is at hand, and what is enqueued below it is.
            let (first, height) = (queues.least, queues.leastHeight)
            for slot in held { slab.view[slot].pointee.height -= 8 }
            queues.lower(by: 8)
            #expect(queues.least == first && queues.leastHeight == height - 8)
            if let slot = vacant.popLast() {
                enqueue(slot, 0, at: -1000 - inflation, into: &queues, slab.view)
                let lowest = queues.least
                #expect(lowest == slot || slab.view[slot].pointee.previous != 0)
                queues.unlink(slot, in: slab.view)
                #expect(queues.leastHeight == height - 8)
            }
            // What came first stands first, in each queue.
            var count = 0
            queues.forEachHead { head in
                var (slot, height) = (head, -Float.infinity)
                while slot != 0 {
                    #expect(slab.view[slot].pointee.height >= height)
                    (height, slot) = (slab.view[slot].pointee.height, slab.view[slot].pointee.next)
                    count += 1
                }
            }
            #expect(count == held.count)
        }
    }
}
