//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import MemoryCaching
import MemoryCachingTestKit
import Synchronization
import Testing

@Suite("A clock moved by hand", .timeLimit(.minutes(10)))
struct ManualClockTests {
    @Test("It stands still, and moves as far as it is told to")
    func moves() {
        let clock = ManualClock()
        let start = clock.now
        #expect(clock.now == start)
        clock.advance(by: .seconds(3))
        #expect(start.duration(to: clock.now) == .seconds(3))
        clock.advance(by: .zero)
        clock.advance(to: start.advanced(by: .seconds(2)))
        #expect(start.duration(to: clock.now) == .seconds(3))
        clock.advance(to: start.advanced(by: .seconds(4)))
        #expect(clock.now == ManualClock.Instant(offset: .seconds(4)))
    }

    @Test("Moving it back ends the process")
    func neverBack() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            ManualClock().advance(by: .seconds(-1))
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("moves only forward"))
    }

    @Test("A sleep ends at its deadline and not before")
    func sleeps() async throws {
        let clock = ManualClock()
        let task = Task { try await clock.sleep(for: .seconds(10)) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(10) - .nanoseconds(1))
        // Whoever is resumed is no sleeper any more, whether it has run or not.
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .nanoseconds(1))
        #expect(clock.sleeperCount == 0)
        try await task.value
    }

    @Test("A deadline that has come needs no sleep")
    func past() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: .init(offset: .seconds(1)))
        try await clock.sleep(until: .init(offset: .zero))
        try await clock.sleep(for: .seconds(-1))
        #expect(clock.sleeperCount == 0)
    }

    /// Runs tasks one at a time, in the order in which they become ready: so the order of resumption can be seen.
    private final class Queue: TaskExecutor {
        private let queue = DispatchQueue(label: "order")
        let woken = Mutex<[Int]>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }

        /// Waits until what has become ready before has run, up to its next suspension.
        func drain() { queue.sync {} }
    }

    @Test("Sleepers are resumed in the order of their deadlines, and of one deadline in that of their coming")
    func order() async throws {
        let clock = ManualClock()
        let queue = Queue()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, deadline) in [5, 3, 9, 3, 1, 5, 20, 3].enumerated() {
                group.addTask(executorPreference: queue) {
                    try await clock.sleep(until: .init(offset: .seconds(deadline)))
                    queue.woken.withLock { $0.append(number) }
                }
                try await clock.waitForSleepers(number + 1)
                queue.drain()
            }
            clock.advance(by: .seconds(10))
            #expect(clock.sleeperCount == 1)
            clock.advance(by: .seconds(10))
            try await group.waitForAll()
        }
        #expect(queue.woken.withLock { $0 } == [4, 1, 3, 7, 0, 5, 2, 6])
    }

    @Test("A cancelled sleep ends at once, before it begins or while it lasts")
    func cancellation() async throws {
        let clock = ManualClock()
        let asleep = Task { try await clock.sleep(for: .seconds(10)) }
        let other = Task { try await clock.sleep(for: .seconds(10)) }
        try await clock.waitForSleepers(2)
        asleep.cancel()
        await #expect(throws: CancellationError.self) { try await asleep.value }
        #expect(clock.sleeperCount == 1)
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .zero)
        }
        await #expect(throws: CancellationError.self) { try await before.value }
        let waiting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.waitForSleepers(2)
        }
        await #expect(throws: CancellationError.self) { try await waiting.value }
        clock.advance(by: .seconds(10))
        try await other.value
    }

    @Test("A task that sleeps again sleeps from the moment that the clock shows")
    func again() async throws {
        let clock = ManualClock()
        let task = Task {
            var moments: [Duration] = []
            for _ in 0..<3 {
                try await clock.sleep(for: .seconds(10))
                moments.append(clock.now.offset)
            }
            return moments
        }
        for step in [25, 10, 10] {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(step))
        }
        #expect(try await task.value == [.seconds(25), .seconds(35), .seconds(45)])
    }

    @Test("Caches live by it")
    func cache() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(options: .init(expiresAfter: .seconds(60), clock: clock))
        let bytes = PurgeableCache<Int>(options: .init(expiresAfter: .seconds(60), clock: clock))
        cache[1] = 1
        bytes.setBytes([1], forKey: 1)
        clock.advance(by: .seconds(60) - .nanoseconds(1))
        #expect(cache[1] == 1 && bytes.bytes(forKey: 1) == [1])
        clock.advance(by: .nanoseconds(1))
        #expect(cache[1] == nil && bytes.bytes(forKey: 1) == nil)
    }
}
