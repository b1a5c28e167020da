//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import _CacheTestSupport

/// Which slots a thread visits: some neighbours many times over, then others.
///
/// A value that is gone costs 20 µs to fill again, one that is there a fraction of a microsecond to read. Visits that
/// were spread evenly over more values than fit would be all filling. And threads meet: half of the time they are
/// where everybody is, which is also where pages are taken from under them.
struct SlotChoice {
    /// Slots that are visited together.
    static let neighbours = 64
    /// Visits to them.
    private static let visits = 1024

    private let slotCount: Int
    private var random: SplitMix64
    private var first = 0
    private var left = 0
    private var followsCrowd = false

    init(slotCount: Int, random: SplitMix64) {
        self.slotCount = slotCount
        self.random = random
    }

    /// The next slot to visit.
    mutating func next(crowd: borrowing Atomic<Int>) -> Int {
        if left == 0 {
            left = Self.visits
            followsCrowd = below(2) == 0
            first = below(slotCount)
        }
        left -= 1
        if followsCrowd { first = crowd.load(ordering: .relaxed) }
        return (first + below(Self.neighbours)) % slotCount
    }

    /// A number of `0 ..< limit`; the small bias of a multiplication does no harm here.
    mutating func below(_ limit: Int) -> Int {
        Int(truncatingIfNeeded: random.next().multipliedFullWidth(by: UInt64(limit)).high)
    }
}

/// What one thread has verified since it last told the others: a shared counter would be the slowest part of a visit.
struct StressTally {
    private var verified = 0
    private var corrupt = 0

    mutating func record(_ isIntact: Bool) {
        verified += isIntact ? 1 : 0
        corrupt += isIntact ? 0 : 1
    }

    mutating func flushIfDue(into counter: borrowing Atomic<Int>, _ counters: StressCounters) {
        if verified >= 1024 || corrupt > 0 { flush(into: counter, counters) }
    }

    mutating func flush(into counter: borrowing Atomic<Int>, _ counters: StressCounters) {
        counter.add(verified, ordering: .relaxed)
        counters.corrupt.add(corrupt, ordering: .relaxed)
        self = StressTally()
    }
}
