//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

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
        governor.takeCensus(at: time.now, isUrgent: true)
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
}
