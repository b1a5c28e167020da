//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import Foundation
import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// A value that has just been set is there, and the counts end at 0, while segments fill, are sealed and are retired.
///
/// Each thread uses keys of its own and so knows what it must find. Memory is not short here: a miss is a loss.
@Suite struct PurgeableCacheLossTests {
    private static let seconds = ProcessInfo.processInfo.environment["CACHE_STRESS_SECONDS"].flatMap(Double.init) ?? 3

    private static func expectEmptied(_ cache: PurgeableCache<Int>, lost: Counter) {
        #expect(lost.value == 0, "values that had just been set were gone")
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.store.staleCount.load(ordering: .relaxed) == 0)
    }

    /// One thread has the only item of a segment while the other fills the segment and has it sealed.
    ///
    /// The other yields where it holds nothing and where it has filled more than a segment, so that on one core too the
    /// first is interrupted in the midst of its removal.
    @Test func oneItemAloneWhileOthersFillItsSegment() {
        let cache = PurgeableCache<Int>()
        let lost = Counter()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        onThreads(2) { thread in
            // 70 values of 15,000 bytes are a segment.
            let value = [UInt8](repeating: 7, count: thread == 0 ? 4 : 15_000)
            let keys = thread == 0 ? -1..<0 : 0..<70
            repeat {
                for key in keys { cache.setBytes(value, forKey: key) }
                if thread == 1 { sched_yield() }
                for key in keys where cache.bytes(forKey: key) != value { lost.increment() }
                for key in keys where !cache.removeBytes(forKey: key) { lost.increment() }
                if thread == 1 { sched_yield() }
            } while ContinuousClock.now < end
        }
        Self.expectEmptied(cache, lost: lost)
    }

    /// The same in the log alone, where a thread is as often as not in the midst of a removal: an item that nobody has
    /// released is still counted when it is.
    @Test func noSegmentIsRetiredWhileItHasItems() {
        let log = SegmentLog()
        let lost = Counter()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        onThreads(2) { thread in
            let count = thread == 0 ? 18 : 1
            repeat {
                for _ in 0..<(thread == 0 ? 1 : 64) {
                    let pass = log.gate.enter(thread)
                    let locations = (0..<count).map { _ in
                        let reservation = log.reserve(byteCount: thread == 0 ? 60_000 : 4, stream: 0)!
                        log.close(reservation)
                        return reservation.location
                    }
                    if thread == 0 { sched_yield() }
                    for location in locations where !log.forget(location) { lost.increment() }
                    log.gate.leave(pass)
                    if thread == 0 { sched_yield() }
                }
            } while ContinuousClock.now < end
        }
        #expect(lost.value == 0, "segments were retired with items in them")
        log.sealActive()
        #expect(log.takeCensus().segments.isEmpty)
    }

    /// Sets, reads and removals of values of all sizes.
    @Test(arguments: [2, 4]) func valuesOfAllSizes(threads: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCacheLossTests.valuesOfAllSizes: seed \(seed)")
        let cache = PurgeableCache<Int>()
        let lost = Counter()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        let sizes = [0, 100, 700, 3000, 15_000, 60_000, 70_000]
        let values = sizes.map { [UInt8](repeating: 7, count: $0) }
        onThreads(threads) { thread in
            var random = SplitMix64(seed: seed &+ UInt64(thread))
            var held: [Int?] = Array(repeating: nil, count: 64)
            repeat {
                for _ in 0..<256 {
                    let place = Int.random(in: 0..<64, using: &random)
                    let key = thread << 20 | place
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0..<3:
                        let which = Int.random(in: 0..<sizes.count, using: &random)
                        cache.setBytes(values[which], forKey: key)
                        held[place] = which
                    case 3:
                        if cache.removeBytes(forKey: key) != (held[place] != nil) {
                            lost.increment()
                        }
                        held[place] = nil
                    default:
                        if cache.bytes(forKey: key) != held[place].map({ values[$0] }) {
                            lost.increment()
                        }
                    }
                }
            } while ContinuousClock.now < end
        }
        Self.expectEmptied(cache, lost: lost)
    }
}
