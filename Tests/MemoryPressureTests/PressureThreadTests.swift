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

/// The one thread: when it is there, and when not.
@Suite struct PressureThreadTests {
    final class Client: PressureThreadClient {
        let turns = Atomic(0)
        let deadline = Mutex<UInt64?>(nil)
        let turned: @Sendable () -> Void
        init(_ turned: @escaping @Sendable () -> Void) { self.turned = turned }
        var descriptors: [PolledDescriptor] { [] }
        func turn(now: UInt64, ready: [PolledDescriptor]) -> UInt64? {
            turns.add(1, ordering: .relaxed)
            turned()
            return deadline.withLock { $0 }.map { now + $0 }
        }
    }

    @Test func runsFromTheFirstClientToTheLast() {
        let thread = PressureThread()
        let client = Client {}
        let other = Client {}
        #expect(!thread.isRunning)
        thread.attach(client)
        thread.attach(other)
        #expect(thread.isRunning)
        thread.detach(client)
        #expect(thread.isRunning)
        thread.detach(other)
        #expect(!thread.isRunning)
        thread.attach(client)
        #expect(thread.isRunning)
        thread.detach(client)
    }

    /// 10,000 pieces of news, each waited for before the next: one that is lost between look and wait would hang.
    @Test func noWakeIsLost() {
        let thread = PressureThread()
        let counter = CompletionCounter()
        let client = Client { counter.advance() }
        thread.attach(client)
        failingWhenStuck("10,000 wakes") {
            for _ in 0..<10_000 {
                let seen = counter.count
                thread.wake()
                counter.wait(past: seen, nanoseconds: .max / 4)
            }
        }
        thread.detach(client)
    }

    @Test func deadlinesAreKept() {
        let thread = PressureThread()
        let counter = CompletionCounter()
        let client = Client { counter.advance() }
        client.deadline.withLock { $0 = 1_000_000 }
        thread.attach(client)
        failingWhenStuck("20 deadlines") { for turn in 0..<20 { counter.wait(past: turn, nanoseconds: .max / 4) } }
        thread.detach(client)
    }

    @Test func attachingAndDetachingFromManyThreadsEndsWithNone() {
        let thread = PressureThread()
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<200 {
                let client = Client {}
                thread.attach(client)
                thread.detach(client)
            }
        }
        #expect(!thread.isRunning)
    }

    /// Says by which thread it was released.
    final class Discarded: Sendable {
        let released: @Sendable () -> Void
        init(_ released: @escaping @Sendable () -> Void) { self.released = released }
        deinit { released() }
    }

    @Test func whatIsDiscardedIsReleasedOnTheThread() {
        let thread = PressureThread()
        let (here, there) = (CompletionCounter(), CompletionCounter())
        let caller = pthread_self()
        func make() -> [any AnyObject & Sendable] {
            [Discarded { pthread_equal(pthread_self(), caller) == 0 ? there.advance() : here.advance() }]
        }
        var objects = make()
        thread.release(&objects)
        #expect(objects.count == 1 && here.count == 0, "there is no thread yet")
        let client = Client {}
        for round in 0..<1000 {
            thread.attach(client)
            objects = make()
            thread.release(&objects)
            #expect(objects.isEmpty)
            // With its last client the thread ends, and has this to do before.
            thread.detach(client)
            failingWhenStuck("a release") { there.wait(past: round, nanoseconds: .max / 4) }
        }
        #expect(here.count == 1 && there.count == 1000)
    }

    /// A child of fork has no such thread and knows it; it can have its own.
    @Test func aChildOfForkStartsAfresh() async {
        await #expect(processExitsWith: .success) {
            let turned = CompletionCounter()
            let client = Client { turned.advance() }
            PressureThread.shared.attach(client)
            turned.wait(past: 0, nanoseconds: .max / 4)
            // The thread is to be in poll(2) when its process is copied: one that holds a lock of the Swift runtime
            // leaves it locked for ever in the child, whatever that does.
            failingWhenStuck("a thread on its way to poll") { while !isPressureThreadPolling() { usleep(1000) } }
            let generation = ForkGeneration.current
            let child = forkForTests()
            if child == 0 {
                guard !PressureThread.shared.isRunning, ForkGeneration.current != generation else { _exit(1) }
                let counter = CompletionCounter()
                let own = Client { counter.advance() }
                PressureThread.shared.attach(own)
                counter.wait(past: 0, nanoseconds: 300_000_000_000)
                _exit(counter.count > 0 ? 0 : 2)
            }
            var status: Int32 = 0
            #expect(waitpid(child, &status, 0) == child)
            #expect(status == 0, "1: believed to have the thread; 2: could not start its own")
            #expect(PressureThread.shared.isRunning)
        }
    }
}

/// Whether the thread waits in poll or ppoll, whose numbers are 7 and 271 on x86-64, and 73 on arm64.
private func isPressureThreadPolling() -> Bool {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.contains { task in
        func text(_ file: String) -> String {
            (try? String(contentsOfFile: "/proc/self/task/\(task)/\(file)", encoding: .utf8)) ?? ""
        }
        return text("comm").hasPrefix("memory-pressure")
            && ["7", "271", "73"].contains(text("syscall").split(separator: " ").first ?? "")
    }
}
