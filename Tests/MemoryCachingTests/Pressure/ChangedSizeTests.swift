//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ForkSafety
import Foundation
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Evictions while the governor still reckons with sizes of the past.
@Suite struct ChangedSizeTests {
    /// A value of so many bytes, which counts what all such values hold.
    final class Value: Sendable {
        static let held = Atomic(0)
        let bytes: Int
        init(bytes: Int) {
            self.bytes = bytes
            Self.held.add(bytes, ordering: .relaxed)
        }
        deinit { Self.held.subtract(bytes, ordering: .relaxed) }
    }

    @Test("A trim takes what it was asked for and not the whole cache, though values have become 200 times as large")
    func large() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("sizes-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        let time = ManualNanoseconds()
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let governor = MemoryGovernor(
            monitor: monitor,
            gauge: MemoryGauge(SystemFiles(root: root.path)),
            now: { time.now },
            trimAllocator: {},
            takeCensus: { HeapCensus(held: Value.held.load(ordering: .relaxed), holes: 0) },
            residentBytes: { Value.held.load(ordering: .relaxed) }
        )
        governor.adopted()
        let cache = MemoryCache<Int, Value>(options: MemoryCacheOptions(pressureMonitor: monitor))
        for key in 0..<20_000 { cache.setValue(Value(bytes: 300), forKey: key) }
        governor.takeCensus(at: time.now, .brink)
        cache.removeAll()
        for key in 0..<1000 { cache.setValue(Value(bytes: 65_536), forKey: key) }
        time.advance(1_000_000_000)

        let asked = 1_500_000
        let freed = governor.evict(asked)
        #expect(freed >= asked)
        #expect(cache.count >= 1000 * 2 / 3, "\(cache.count) entries are left")
        // Asked once more, with sizes that are known now.
        let before = Value.held.load(ordering: .relaxed)
        governor.evict(asked)
        let given = before - Value.held.load(ordering: .relaxed)
        #expect(given >= asked / 2 && given <= 2 * asked, "\(given) bytes")
    }

    /// A governor whose census says what is held after `during` has run, which is what other threads do while it is
    /// taken.
    private func governor(_ monitor: MemoryPressureMonitor, holes: Int = 0, during: @escaping @Sendable () -> Void)
        -> MemoryGovernor
    {
        let governor = MemoryGovernor(
            monitor: monitor,
            gauge: MemoryGauge(SystemFiles(root: "/nowhere")),
            trimAllocator: {},
            takeCensus: {
                let held = Value.held.load(ordering: .relaxed)
                during()
                return HeapCensus(held: held, holes: holes)
            },
            residentBytes: { Value.held.load(ordering: .relaxed) }
        )
        governor.adopted()
        return governor
    }

    @Test("A census during which the caches have changed says nothing of sizes", arguments: [0, 500, 20_000])
    func changing(inserted: Int) throws {
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let filled = Mutex<MemoryCache<Int, Value>?>(nil)
        let governor = governor(monitor) {
            let cache = filled.withLock { $0 }
            for key in 0..<inserted { cache?.setValue(Value(bytes: 5000), forKey: 100_000 + key) }
        }
        let cache = MemoryCache<Int, Value>(options: MemoryCacheOptions(pressureMonitor: monitor))
        for key in 0..<10_000 { cache.setValue(Value(bytes: 5000), forKey: key) }
        filled.withLock { $0 = cache }
        // The cache's monitor holds the governor, and that the cache.
        defer { filled.withLock { $0 = nil } }
        governor.takeCensus(at: 1, .brink)
        let size = governor.state.withLock { $0.members.values.first?.estimate.residentBytes }
        if inserted == 20_000 {
            // 50 MB held, and 30,000 entries when they were counted.
            #expect(size == InsertionEstimate.pessimistic)
        } else {
            #expect(abs((size ?? 0) - 5000) < 500)
        }
    }

    @Test("A census that finds holes that nobody knew of disturbs what is being measured")
    func unknownHoles() {
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let governor = governor(monitor, holes: 1000) {}
        let cache = MemoryCache<Int, Value>(options: MemoryCacheOptions(pressureMonitor: monitor))
        cache.setValue(Value(bytes: 5000), forKey: 1)
        let before = governor.state.withLock { $0.disturbances }
        governor.takeCensus(at: 1, .brink)
        #expect(governor.state.withLock { $0.disturbances } == before + 1)
        #expect(governor.state.withLock { $0.ledger.holes } == 1000)
        // The same holes again are no news.
        governor.takeCensus(at: 1 << 40, .brink)
        #expect(governor.state.withLock { $0.disturbances } == before + 1)
    }
}
