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

// The end of loads that take too long.
extension LoadingFallbackTests {
    @Test("A load beyond its timeout fails, is cancelled, and is not stored", arguments: [0, 1])
    func hard(_ kind: Int) async throws {
        let told = Mutex<[String]>([])
        let cache = expired(kind) {
            $0.keepsExpiredFor = nil
            $0.loadTimeout = .seconds(3)
            $0.loadHandler = { load in
                if case .failed(let error) = load.result { told.withLock { $0.append("\(error)") } }
            }
        }
        let (gate, cancelled) = (Gate(), Counter())
        let load: @Sendable () async throws -> [UInt8] = {
            await gate.pass()
            if Task.isCancelled { cancelled.increment() }
            return [2]
        }
        let callers = (0..<3).map { index in
            Task { try await index == 2 ? cache.refresh("a", load) : cache.get("a", load) }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 3 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(3))
        for caller in callers {
            await #expect(throws: CacheLoadTimeoutError(key: "a", timeout: .seconds(3))) { try await caller.value }
        }
        // It has failed for all, though it goes on: the next caller makes a load of its own.
        #expect(try await cache.get("a") { [3] } == [3])
        gate.open()
        await settle(cache)
        #expect(cancelled.value == 1 && cache.get("a") == [3])
        #expect(told.withLock { $0 } == ["The load of the key a took longer than 3.0 seconds and was cancelled."])
        #expect(cache.statistics.loads == 2 && cache.statistics.loadFailures == 1)
        await yieldUntil { clock.sleeperCount == 0 }
    }

    @Test("Beyond the timeout a fallback answers who may have one", arguments: [0, 1])
    func hardWithFallback(_ kind: Int) async throws {
        let cache = expired(kind) { $0.loadTimeout = .seconds(3) }
        let gate = Gate()
        let load: @Sendable () async throws -> [UInt8] = {
            await gate.pass()
            return [2]
        }
        let usual = Task { try await cache.get("a", load) }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 }
        let forced = Task { try await cache.refresh("a", load) }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 2 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(3))
        #expect(try await usual.value == [1])
        await #expect(throws: CacheLoadTimeoutError.self) { try await forced.value }
        gate.open()
        await settle(cache)
        #expect(cache.get("a") == nil)
    }

    @Test("Timeouts of bulk loads and of refreshes in the background end them too", arguments: [0, 1])
    func hardElsewhere(_ kind: Int) async throws {
        let cache = expired(kind) {
            $0.loadTimeout = .seconds(3)
            $0.staleWindow = .seconds(5)
            $0.failureLifetime = .seconds(100)
        }
        let gate = Gate()
        let bulk = Task {
            try await cache.get(["b", "c"]) { _ in
                await gate.pass()
                return ["b": [2], "c": [3]]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "b") == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(3))
        await #expect(throws: CacheLoadTimeoutError.self) { try await bulk.value }
        #expect(cache.statistics.loadFailures == 1)
        // Remembered like other failures of the key.
        await #expect(throws: CacheLoadTimeoutError(key: "c", timeout: .seconds(3))) {
            try await cache.get("c") { [4] }
        }

        cache.set("d", [1], nil)
        clock.advance(by: .seconds(6))
        #expect(
            try await cache.get("d") {
                await gate.pass()
                return [2]
            } == [1]
        )
        await yieldUntil { clock.sleeperCount == 1 }
        clock.advance(by: .seconds(3))
        await yieldUntil { cache.statistics.loadFailures == 2 }
        gate.open()
        await settle(cache)
        #expect(cache.get("d") == [1], "the window has had its refresh")
        #expect(cache.get("b") == nil && cache.get("c") == nil)
    }

    @Test("Who cannot be told of a timeout waits for the load")
    func untold() async {
        let cache = MemoryCache<String, Int>(options: .init(loadTimeout: .seconds(3), clock: clock))
        let gate = Gate()
        let task = Task {
            await cache.value(forKey: "a") {
                await gate.pass()
                return 1
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(3))
        await yieldUntil { cache.statistics.loadFailures == 1 }
        gate.open()
        #expect(await task.value == 1)
        #expect(cache.value(forKey: "a") == nil)
    }

    @Test("A load that ends in time leaves no sleeper behind", arguments: [0, 1])
    func inTime(_ kind: Int) async throws {
        let cache = expired(kind) {
            $0.softLoadTimeout = .seconds(1)
            $0.loadTimeout = .seconds(2)
        }
        for key in 0..<20 {
            #expect(try await cache.get("\(key)") { [2] } == [2])
            _ = try? await cache.get("\(key) again") { throw Trouble.now }
        }
        await yieldUntil { clock.sleeperCount == 0 }
        clock.advance(by: .seconds(5))
        #expect(cache.statistics.loadFailures == 20)
    }

    /// A clock that notes how long the sleeps by it are, and for how long it had been running when they began.
    private final class NotingClock: Clock, Sendable {
        typealias Instant = ManualClock.Instant
        let base = ManualClock()
        let sleeps = Mutex<[(from: Duration, to: Duration)]>([])
        var now: Instant { base.now }
        var minimumResolution: Duration { base.minimumResolution }
        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            sleeps.withLock { $0.append((now.offset, deadline.offset)) }
            try await base.sleep(until: deadline, tolerance: tolerance)
        }
    }

    /// What a cancelled sleep leaves in the runtime is there until the sleep's deadline.
    @Test("Nobody sleeps much longer than the load has taken so far", arguments: [nil, Duration.seconds(600)])
    func shortSleeps(soft: Duration?) async throws {
        let clock = NotingClock()
        let cache = MemoryCache<String, Int>(
            options: .init(
                keepsExpiredFor: .seconds(1),
                softLoadTimeout: soft,
                loadTimeout: .seconds(3600),
                clock: clock
            )
        )
        let gate = Gate()
        let task = Task {
            try await cache.value(forKey: "a") { () async throws -> Int in
                await gate.pass()
                return 1
            }
        }
        while clock.now.offset < .seconds(3600) {
            await yieldUntil { clock.base.sleeperCount == 1 }
            clock.base.advance(to: .init(offset: clock.sleeps.withLock { $0.last!.to }))
        }
        await #expect(throws: CacheLoadTimeoutError.self) { try await task.value }
        gate.open()
        let sleeps = clock.sleeps.withLock { $0 }
        #expect(sleeps.allSatisfy { $0.to - $0.from <= max($0.from, .milliseconds(64)) }, "\(sleeps)")
        // Seldom: an hour is some 16 times twice as long as the first sleep.
        #expect(sleeps.count < 20)
    }

    @Test("A timeout of nothing means none, and a soft one beyond the hard one never comes", arguments: [0, 1])
    func odd(_ kind: Int) async throws {
        for timeout in [Duration.zero, .seconds(-1)] {
            let cache = expired(kind) { $0.loadTimeout = timeout }
            #expect(try await cache.get("b") { [2] } == [2])
            #expect(clock.sleeperCount == 0)
        }
        let cache = expired(kind) {
            $0.softLoadTimeout = .seconds(5)
            $0.loadTimeout = .seconds(2)
        }
        let gate = Gate()
        let task = Task {
            try await cache.get("a") {
                await gate.pass()
                return [2]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(2))
        #expect(try await task.value == [1])
        gate.open()
        await settle(cache)
        #expect(cache.statistics.loadFailures == 1 && cache.get("a") == nil)
    }

    @Test("A soft timeout of 0 answers at once what is kept, and loads meanwhile", arguments: [0, 1])
    func softZero(_ kind: Int) async throws {
        let cache = expired(kind) { $0.softLoadTimeout = .seconds(-1) }
        let gate = Gate()
        let bytes = try await cache.get("a") {
            await gate.pass()
            return [2]
        }
        #expect(bytes == [1])
        gate.open()
        await settle(cache)
        #expect(cache.get("a") == [2])
    }
}
