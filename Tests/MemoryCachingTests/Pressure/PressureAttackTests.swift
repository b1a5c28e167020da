//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What attacks from outside have broken once, with warnings of memory pressure.
@Suite("Memory pressure: promises that were broken once")
struct PressureAttackTests {
    /// A process whose allocator keeps what is free, and says how much that is.
    private final class Heap: Sendable {
        /// Bytes that the caches hold.
        let held = Mutex<@Sendable () -> Int>({ 0 })
        private let most = Atomic(0)
        private let clock = Atomic<UInt64>(0)
        /// Nanoseconds that pass between two looks at the clock: few on a fast machine, many on a busy one.
        private let step: UInt64

        init(step: UInt64 = 0) { self.step = step }

        var inUse: Int { (1 << 20) + held.withLock { $0 }() }
        var now: UInt64 { clock.add(step, ordering: .relaxed).newValue }
        var resident: Int { most.max(inUse, ordering: .relaxed).newValue }
    }

    /// The governor of caches that hear of pressure from `signal` alone, and their options.
    private static func governor(of heap: Heap, _ signal: ManualPressureSignal)
        -> (MemoryGovernor, MemoryCacheOptions<Int, Int>)
    {
        let monitor = MemoryPressureMonitor(signals: [signal])
        let governor = MemoryGovernor(
            monitor: monitor,
            gauge: MemoryGauge(SystemFiles(root: "/nonexistent")),
            now: { heap.now },
            trimAllocator: {},
            takeCensus: {
                let (resident, inUse) = (heap.resident, heap.inUse)
                return HeapCensus(held: inUse, holes: resident - inUse)
            },
            residentBytes: { heap.resident }
        )
        governor.adopted()
        return (governor, MemoryCacheOptions(pressureMonitor: monitor))
    }

    @Test("costs up to Int.max are evicted for a warning", arguments: [1 << 60, 1 << 62, Int.max])
    func hugeCosts(_ cost: Int) {
        let signal = ManualPressureSignal()
        let cache = MemoryCache<Int, Int>(
            options: .init(pressureMonitor: MemoryPressureMonitor(signals: [signal]))
        )
        for round in 0..<20 {
            for key in 0..<20 { cache.setValue(round, forKey: key, cost: cost) }
            signal.send(.warning)
            signal.send(.critical)
            #expect(cache.count < 20)
            signal.send(.normal)
        }
        let statistics = cache.statistics
        #expect(statistics.bytesAskedUnderPressure > 0 && statistics.bytesReturnedUnderPressure > 0)
    }

    /// What a cache that has gone has left free in the heap was taken for what the entries of the next hold.
    @Test("small values find room under a warning, whatever lies free", arguments: [0, 10_000, 10_000_000])
    func smallValuesBesideHoles(step: UInt64) {
        let (heap, signal) = (Heap(step: step), ManualPressureSignal())
        let (governor, options) = Self.governor(of: heap, signal)
        defer { withExtendedLifetime(governor) {} }
        do {
            let cache = MemoryCache<Int, Int>(options: options)
            heap.held.withLock { $0 = { 8 << 20 } }
            for key in 0..<2000 { cache.setValue(key, forKey: key) }
            #expect(heap.resident == 9 << 20)
        }
        heap.held.withLock { $0 = { 0 } }
        let cache = MemoryCache<Int, Int>(options: options)
        cache.setValue(0, forKey: 0)
        signal.send(.warning)
        let left = cache.count
        for key in 1..<50 {
            cache.setValue(key, forKey: key)
            #expect(cache.count == left + key)
        }
    }

    /// The few that are dear were taken for large, because nothing had been measured of them.
    @Test(
        "critical leaves a quarter of two caches, whichever is dear",
        arguments: [100, 10_000],
        [0, 10_000, 10_000_000]
    )
    func fewDearOnes(_ bytes: Int, step: UInt64) {
        let (heap, signal) = (Heap(step: step), ManualPressureSignal())
        let (governor, options) = Self.governor(of: heap, signal)
        defer { withExtendedLifetime(governor) {} }
        let (few, many) = (MemoryCache(options: options), MemoryCache(options: options))
        heap.held.withLock { $0 = { (few.count + many.count) * (bytes + 100) } }
        for key in 0..<250 { few.setValue(key, forKey: key, cost: 0, recomputeCost: 1000) }
        for key in 0..<1750 { many.setValue(key, forKey: key, cost: 0, recomputeCost: 1) }
        #expect(heap.resident > 2000 * bytes)
        signal.send(.warning)
        #expect((1400...1600).contains(few.count + many.count), "\(few.count) and \(many.count)")
        signal.send(.critical)
        #expect((300...450).contains(few.count + many.count), "\(few.count) and \(many.count)")
        #expect(few.count == 250)
    }

    /// What was sold for 10¹¹ and more had raised L so far that the stays which 1 and 1,000 buy were rounded to one.
    @Test("the cheap go before the dear when dearer ones have gone", arguments: [1e6, 1e11, 1e15, 1e300], [1, 1000])
    func afterDearerOnes(_ dearest: Double, cost: Int) {
        let signal = ManualPressureSignal()
        let options = MemoryCacheOptions<Int, Int>(pressureMonitor: MemoryPressureMonitor(signals: [signal]))
        let (dear, cheap) = (MemoryCache(options: options), MemoryCache(options: options))
        func fill(_ count: Int, of cache: MemoryCache<Int, Int>, recomputeCost: Double) {
            for key in 0..<count { cache.setValue(key, forKey: key, cost: cost, recomputeCost: recomputeCost) }
        }
        for _ in 0..<10 {
            fill(100, of: dear, recomputeCost: dearest)
            fill(100, of: cheap, recomputeCost: 1)
            for _ in 0..<4 {
                signal.send(.critical)
                signal.send(.normal)
            }
            dear.removeAll()
            cheap.removeAll()
            fill(100, of: dear, recomputeCost: 1000)
            fill(300, of: cheap, recomputeCost: 1)
            signal.send(.warning)
            signal.send(.normal)
            #expect(dear.count == 100 && cheap.count < 300)
            dear.removeAll()
            cheap.removeAll()
        }
    }
}
