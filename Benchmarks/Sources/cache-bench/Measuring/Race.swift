//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization

/// Threads that start together, run until told to stop and say how far they came.
enum Race {
    private final class State: Sendable {
        let ready = Atomic<Int>(0)
        let go = Atomic<Bool>(false)
        let stop = Atomic<Bool>(false)
        let total = Atomic<Int>(0)
        let done = DispatchSemaphore(value: 0)
    }

    /// Millions of requests a second of all loops together.
    static func run(
        _ loops: [@Sendable (borrowing Atomic<Bool>) -> Int],
        milliseconds: Int
    ) -> Double {
        let state = State()
        for loop in loops {
            let thread = Thread {
                state.ready.add(1, ordering: .relaxed)
                while !state.go.load(ordering: .acquiring) { sched_yield() }
                state.total.add(loop(state.stop), ordering: .relaxed)
                state.done.signal()
            }
            thread.start()
        }
        while state.ready.load(ordering: .relaxed) < loops.count { sched_yield() }
        let clock = ContinuousClock()
        let start = clock.now
        state.go.store(true, ordering: .releasing)
        Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
        state.stop.store(true, ordering: .relaxed)
        for _ in loops { state.done.wait() }
        let seconds = (clock.now - start) / .seconds(1)
        return Double(state.total.load(ordering: .relaxed)) / seconds / 1e6
    }
}
