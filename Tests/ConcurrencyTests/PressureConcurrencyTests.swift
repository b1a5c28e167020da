//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import MemoryCaching
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

/// Insertions, reactions, caches that come and go, and the thread: all at once, for ThreadSanitizer and for deadlocks.
@Suite struct PressureConcurrencyTests {
    @Test(.timeLimit(.minutes(10))) func insertionsReactionsAndDeparturesDoNotGetInEachOthersWay() {
        let signal = ManualPressureSignal()
        let governor = MemoryGovernor(monitor: MemoryPressureMonitor(signals: [signal]), trimAllocator: {})
        let lasting = QueueCache(governor: governor)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var random = SplitMix64(seed: UInt64(thread))
            for round in 0..<300 {
                switch thread {
                case 0:
                    signal.send([.normal, .warning, .critical][Int(random.next() % 3)])
                case 1:
                    let passing = QueueCache(governor: governor, price: Double(round), costPercent: round % 2 * 100)
                    for _ in 0..<8 { passing.insert([UInt8](repeating: 1, count: 512)) }
                default:
                    for _ in 0..<32 { lasting.insert([UInt8](repeating: 2, count: 1024)) }
                }
            }
        }
        signal.send(.normal)
        #expect(governor.cacheCount == 1)
        // Whatever the last level left: with it gone there is room again.
        lasting.insert([UInt8](repeating: 2, count: 1024))
        #expect(lasting.bytes > 0)
    }

    @Test(.timeLimit(.minutes(10))) func subscribersComeAndGoWhileLevelsChange() async {
        let signal = ManualPressureSignal()
        let monitor = MemoryPressureMonitor(signals: [signal, SystemPressureSignal()])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        var levels = monitor.levels.makeAsyncIterator()
                        _ = await levels.next(isolation: nil)
                    }
                }
            }
            group.addTask { for round in 0..<400 { signal.send(round % 2 == 0 ? .warning : .normal) } }
        }
        signal.send(.critical)
        var levels = monitor.levels.makeAsyncIterator()
        #expect(await levels.next(isolation: nil) == .critical)
    }
}
