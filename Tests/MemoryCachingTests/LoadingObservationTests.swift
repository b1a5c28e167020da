//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Seeing what a cache does", .timeLimit(.minutes(10)))
struct LoadingObservationTests {
    enum Trouble: Error { case first }

    @Test("The description names what happened, and nothing that did not")
    func description() {
        var statistics = CacheStatistics()
        statistics.count = 1
        statistics.totalCost = 1_234_567
        #expect(statistics.description == "held         1 entry, cost 1,234,567")
        statistics.count = 12_034
        statistics.hits = 120_334
        statistics.misses = 8_896
        statistics.insertions = 8_884
        statistics.refusals = 2
        statistics.removalCounts[.costLimit] = 3900
        statistics.removalCounts[.memoryPressure] = 120
        statistics.removalCounts[.removed] = 7
        statistics.loads = 8_896
        statistics.loadFailures = 12
        statistics.coalescedLoads = 301
        statistics.totalLoadTime = .milliseconds(8_896 * 3)
        statistics.bytesAskedUnderPressure = 1 << 20
        statistics.bytesReturnedUnderPressure = 1_000_000
        #expect(
            statistics.description == """
                held         12,034 entries, cost 1,234,567
                lookups      129,230, hit rate 93.1 % (8,896 misses)
                insertions   8,884, 2 refused
                removals     7 removed
                evictions    4,020 (3,900 cost limit, 120 memory pressure)
                loads        8,896 taking 3.00 ms on average, 12 failed, 301 callers shared one
                pressure     asked for 1,048,576 bytes, gave 1,000,000
                """
        )
    }

    @Test(
        "Durations have three digits and a unit",
        arguments: [
            (0, "0 ns"), (999, "999 ns"), (1_000, "1.00 µs"), (12_345, "12.3 µs"), (999_400, "999 µs"),
            (999_600, "1.00 ms"), (3_120_000, "3.12 ms"), (9_996_000, "10.0 ms"), (2_050_000_000, "2.05 s"),
        ]
    )
    func durations(nanoseconds: Int, text: String) {
        #expect(Duration.nanoseconds(nanoseconds).brief == text)
    }

    @Test("The difference of two snapshots is what happened in between")
    func window() async {
        let cache = MemoryCache<Int, Int>()
        _ = await cache.value(forKey: 1) { 1 }
        let before = cache.statistics
        for _ in 0..<3 { _ = await cache.value(forKey: 1) { 1 } }
        _ = await cache.value(forKey: 2) { 2 }
        let window = cache.statistics - before
        #expect(window.loads == 1)
        #expect(window.hits == 3 && window.misses == 1)
        #expect(window.hitRate == 0.75)
    }

    @Test("The load handler hears of every load before its waiters do")
    func loadHandler() async throws {
        let clock = ManualClock()
        let heard = Mutex<[String]>([])
        let cache = MemoryCache<Int, Int>(
            options: .init(
                loadHandler: { load in
                    heard.withLock { $0.append("\(load.reason) \(load.keys) \(load.duration) \(load.result)") }
                },
                clock: clock
            )
        )
        _ = await cache.value(forKey: 1) { () async -> Int in
            clock.advance(by: .seconds(2))
            return 1
        }
        _ = try? await cache.value(forKey: 2) { () async throws -> Int in throw Trouble.first }
        _ = await cache.values(forKeys: [1, 2, 3]) { _ in [3: 3] }
        #expect(
            heard.withLock { $0 } == [
                "miss [1] 2.0 seconds loaded(1)", "miss [2] 0.0 seconds failed(\(String(reflecting: Trouble.first)))",
                "bulk [2, 3] 0.0 seconds loaded(1)",
            ]
        )
    }

    @Test("Maintenance lets go of what has expired, round after round, until it is cancelled")
    func maintenance() async {
        let clock = ManualClock()
        let left = Counter()
        let cache = MemoryCache<Int, Int>(
            options: .init(removalHandler: { _, _, _ in left.increment() }, clock: clock)
        )
        let rounds = Counter()
        var maintenance = CacheMaintenance(every: .seconds(10), clock: clock)
        maintenance.add(cache)
        maintenance.add { rounds.increment() }
        cache.setValue(1, forKey: 1, cost: 0, expiresAfter: .seconds(5))
        let task = Task { [maintenance] in await maintenance.run() }
        await yieldUntil { clock.sleeperCount == 1 }
        #expect(rounds.value == 1 && left.value == 0)
        clock.advance(by: .seconds(10))
        await yieldUntil { rounds.value == 2 && clock.sleeperCount == 1 }
        #expect(left.value == 1)
        task.cancel()
        await task.value
        #expect(rounds.value == 2)
    }

    @Test("Maintenance frees what has expired in a purgeable cache, and does not keep the cache alive")
    func purgeableMaintenance() {
        let clock = ManualClock()
        var maintenance = CacheMaintenance(clock: clock)
        weak var gone: PurgeableCache<Int>?
        do {
            let cache = PurgeableCache<Int>(options: .init(clock: clock))
            gone = cache
            maintenance.add(cache)
            cache.setBytes([1, 2, 3], forKey: 1, expiresAfter: .seconds(5))
            maintenance.perform()
            #expect(cache.store.room.count == 1)
            clock.advance(by: .seconds(6))
            // By the store's own count: asking the cache would sweep.
            #expect(cache.store.room.count == 1)
            maintenance.perform()
            #expect(cache.store.room.count == 0)
        }
        #expect(gone == nil)
        maintenance.perform()
    }
}
