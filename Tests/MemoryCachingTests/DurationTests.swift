//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// A clock that breaks a clock's promise: it jumps to any moment, earlier ones too. Nobody can sleep by it.
private final class JumpingClock: Clock, Sendable {
    private let moment = Mutex(ManualClock.Instant())

    var now: ManualClock.Instant { moment.withLock { $0 } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func jump(to instant: ManualClock.Instant) { moment.withLock { $0 = instant } }
    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {}
}

/// Durations beyond what 64 bits of seconds hold, wherever one may be given.
@Suite struct DurationTests {
    static let longest = Duration(attoseconds: .max)
    static let shortest = Duration(attoseconds: .min)
    static let extremes = [
        longest, shortest, .zero, .seconds(Int64.max), .seconds(Int64.min), .nanoseconds(Int64.max),
        .nanoseconds(Int64.min), .nanoseconds(-1), .seconds(-1), Duration(attoseconds: -1),
        .seconds(Int64.max) + .seconds(1), .seconds(Int64.min) - .seconds(1),
    ]

    @Test(arguments: extremes) func nanosecondsSaturate(duration: Duration) {
        let exact = duration.attoseconds / 1_000_000_000
        #expect(duration.saturatedNanoseconds == Int64(clamping: exact))
    }

    @Test(arguments: extremes, [0.0, 0.5, 1]) func everySettingTakesThem(duration: Duration, jitter: Double)
        async throws
    {
        let clock = ManualClock()
        clock.advance(by: .seconds(1))
        var options = MemoryCacheOptions<Int, Int>(clock: clock)
        options.expiresAfter = duration
        options.expiresAfterAccess = duration
        options.staleWindow = duration
        options.failureLifetime = duration
        options.lifetimeJitter = jitter
        options.lifetime = { _, value in value == 1 ? duration : nil }
        let cache = MemoryCache(options: options)
        cache[1] = 1
        cache[2] = 2
        cache.setValue(3, forKey: 3, cost: 1, expiresAfter: duration)
        #expect(await cache.value(forKey: 4) { 4 } == 4)
        struct Failure: Error {}
        await #expect(throws: Failure.self) {
            try await cache.value(forKey: 5) { () async throws -> Int in throw Failure() }
        }
        let isLong = duration > .seconds(1_000_000_000)
        #expect(duration > .zero || cache.count == 0)
        #expect(!isLong || jitter > 0 || cache.count == 4)
        clock.advance(by: .seconds(1_000_000))
        cache.removeExpired()
        #expect(!isLong || jitter > 0 || cache[1] == 1)
    }

    /// A lifetime that ended before the clock began is over, not endless.
    @Test func negativeLifetimesAreOver() {
        #expect(EntryDeadline.moment(.min, after: -1) == .min)
        #expect(EntryDeadline.moment(.max, after: 1) == .max)
    }

    @Test(arguments: [longest, shortest]) func aClockMayJumpSoFar(duration: Duration) async {
        let clock = JumpingClock()
        let cache = MemoryCache<Int, Int>(options: .init(clock: clock))
        let value = await cache.value(forKey: 1) {
            clock.jump(to: .init(offset: duration))
            return 1
        }
        #expect(value == 1)
        #expect(cache.statistics.totalLoadTime >= .zero)
    }

    @Test(arguments: extremes) func reactionsAndStatisticsDescribeThem(duration: Duration) {
        let reaction = MemoryPressureReaction(level: .warning, bytesAsked: 1, bytesFreed: 1, duration: duration)
        #expect(reaction.description.hasSuffix("in \(duration.saturatedNanoseconds / 1_000_000) ms"))
        var statistics = CacheStatistics()
        statistics.loads = 1
        statistics.totalLoadTime = duration
        #expect(!"\(statistics)".isEmpty)
    }

    @Test(arguments: [longest, .seconds(Int64.max)]) func maintenanceRestsForAsLong(duration: Duration) async {
        let rounds = Counter()
        for clock in [ContinuousClock(), SuspendingClock(), ManualClock()] as [any Clock<Duration>] {
            var maintenance = CacheMaintenance(every: duration, clock: clock)
            let done = Gate()
            maintenance.add {
                rounds.increment()
                done.open()
            }
            let task = Task { [maintenance] in await maintenance.run() }
            await done.pass()
            task.cancel()
            await task.value
        }
        #expect(rounds.value == 3)
    }
}
