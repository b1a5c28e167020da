//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure

/// What a thread is to do. `Thread` lets go of its block some time after it has ended, which is too late for a test
/// that counts what is alive: the body goes before the thread says that it is done.
private final class Job: @unchecked Sendable {
    // Sendable: used by one thread, and set up before that thread starts.
    var body: (@Sendable (Int) -> Void)?
    init(_ body: @escaping @Sendable (Int) -> Void) { self.body = body }
}

/// Runs `body` on as many threads of their own, more than there are processors, and waits for all of them.
func inParallel(_ threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let done = DispatchGroup()
    for index in 0..<threads {
        done.enter()
        let job = Job(body)
        let thread = Thread {
            job.body?(index)
            job.body = nil
            done.leave()
        }
        thread.start()
    }
    done.wait()
}

/// Runs two bodies at once on threads of their own, `rounds` times, and `check` after each round, when both have
/// returned. Both wait for each other actively at first, so that they begin as nearly at once as can be.
func race(
    rounds: Int,
    _ first: @escaping @Sendable (Int) -> Void,
    _ second: @escaping @Sendable (Int) -> Void,
    check: @escaping @Sendable (Int) -> Void
) {
    let begun = CompletionCounter()
    let done = CompletionCounter()
    @Sendable func meet(at counter: CompletionCounter, _ round: Int) {
        counter.advance()
        for _ in 0..<2000 where counter.count < 2 * round + 2 {}
        // On a busy machine a thread that only yields gets its next turn after everyone else's: 20,000 rounds took
        // more than a minute. One that sleeps is woken at once.
        counter.wait(past: 2 * round + 1, nanoseconds: .max)
    }
    inParallel(2) { thread in
        for round in 0..<rounds {
            meet(at: begun, round)
            if thread == 0 { first(round) } else { second(round) }
            meet(at: done, round)
            if thread == 0 { check(round) }
        }
    }
}

/// How many times a stress test does what it does: ten times as often where `CACHE_STRESS_SECONDS` asks for more.
func stressed(_ count: Int) -> Int {
    ProcessInfo.processInfo.environment["CACHE_STRESS_SECONDS"] == nil ? count : 10 * count
}
