//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import Synchronization
import Testing
import _CacheTestSupport

/// Failures that are remembered while others are on their way to load.
@Suite("Loading: a failure that is remembered")
struct LoadingFailureTests {
    private struct Outage: Error {}

    /// A caller that has seen neither a failure nor a load may find that the load has ended meanwhile: it looks for the
    /// failure again, as for a value. Where it did not, 1 of 20,000 to 3 of 1,000 such rounds made a second load.
    @Test("one failure answers all who come while it is remembered", arguments: [false, true])
    func oneLoad(isBulk: Bool) async {
        let cache = MemoryCache<Int, Int>(options: .init(failureLifetime: .seconds(3600)))
        for key in 0..<20_000 {
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<3 {
                            if isBulk {
                                _ = try? await cache.values(forKeys: [key]) { _ -> [Int: Int] in throw Outage() }
                            } else {
                                _ = try? await cache.value(forKey: key) { throw Outage() }
                            }
                        }
                    }
                }
            }
        }
        #expect(cache.statistics.loads == 20_000)
    }

    /// A key whose hashing stops where a failure is being noted.
    private struct Key: Hashable, Sendable {
        let stop: Stop
        static func == (left: Key, right: Key) -> Bool { left.stop === right.stop }
        func hash(into hasher: inout Hasher) {
            stop.here()
            hasher.combine(ObjectIdentifier(stop))
        }
    }

    private final class Stop: Sendable {
        @TaskLocal static var isLoading = false
        let hasFailed = Atomic(false)
        let calls = Atomic(0)
        let isStopped = Atomic(false)
        let mayGoOn = Atomic(false)

        /// The load that has failed stops at its second question after that: between a note and what follows it.
        func here() {
            guard Stop.isLoading, hasFailed.load(ordering: .acquiring) else { return }
            guard calls.add(1, ordering: .relaxed).newValue == 2 else { return }
            isStopped.store(true, ordering: .releasing)
            while !mayGoOn.load(ordering: .acquiring) { sched_yield() }
        }
    }

    /// It was noted first and taken back then: who came in between after the removal was told the old error.
    @Test("the failure of a load from before a removal answers nobody after it")
    func noOldFailure() async throws {
        let cache = MemoryCache<Key, Int>(options: .init(failureLifetime: .seconds(3600)))
        let key = Key(stop: Stop())
        let (stop, mayFail, hasBegun, isDone) = (key.stop, Gate(), Gate(), Counter())
        let first = Task {
            await Stop.$isLoading.withValue(true) {
                _ = try? await cache.value(forKey: key) { () async throws -> Int in
                    hasBegun.open()
                    await mayFail.pass()
                    stop.hasFailed.store(true, ordering: .releasing)
                    throw Outage()
                }
            }
            isDone.increment()
        }
        await hasBegun.pass()
        cache.removeValue(forKey: key)
        mayFail.open()
        await yieldUntil { isDone.value > 0 || stop.isStopped.load(ordering: .acquiring) }
        #expect(try await cache.value(forKey: key) { () async throws -> Int in 2 } == 2)
        stop.mayGoOn.store(true, ordering: .releasing)
        await first.value
        #expect(cache.peekValue(forKey: key) == 2)
    }
}
