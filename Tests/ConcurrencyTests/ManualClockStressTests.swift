//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@Suite("A clock moved by several threads", .timeLimit(.minutes(10)))
struct ManualClockStressTests {
    @Test("Every sleep ends once: at its deadline or later, or cancelled; and no thread sees the clock go back")
    func sleepers() async {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        let clock = ManualClock()
        let count = stressed(2_000)
        let slept = Counter()
        let cancelled = Counter()
        let ends = Counter()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withTaskGroup(of: Void.self) { sleepers in
                    for number in 0..<count {
                        var random = SplitMix64(seed: seed &+ UInt64(number))
                        let duration = Duration.nanoseconds(Int.random(in: 0...1_000, using: &random))
                        let isCancelled = Int.random(in: 0..<3, using: &random) == 0
                        sleepers.addTask {
                            let deadline = clock.now.advanced(by: duration)
                            let sleep = Task { try await clock.sleep(until: deadline) }
                            if isCancelled { sleep.cancel() }
                            do {
                                try await sleep.value
                                slept.increment()
                                #expect(clock.now >= deadline)
                            } catch {
                                cancelled.increment()
                                #expect(isCancelled && error is CancellationError)
                            }
                        }
                    }
                }
                ends.increment()
            }
            group.addTask {
                await withCheckedContinuation { continuation in
                    Thread {
                        onThreads(4) { thread in
                            var random = SplitMix64(seed: seed &- UInt64(thread + 1))
                            var last = clock.now
                            while ends.value == 0 {
                                let step = Duration.nanoseconds(Int.random(in: 0...3, using: &random))
                                if thread == 0 {
                                    clock.advance(to: last.advanced(by: step))
                                } else {
                                    clock.advance(by: step)
                                }
                                let now = clock.now
                                if now < last { Issue.record("back from \(last) to \(now)") }
                                last = now
                            }
                        }
                        continuation.resume()
                    }.start()
                }
            }
        }
        #expect(slept.value + cancelled.value == count)
        #expect(slept.value > 0)
        #expect(clock.sleeperCount == 0)
    }
}
