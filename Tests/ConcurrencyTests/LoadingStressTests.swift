//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization
import Testing
import _CacheTestSupport

@Suite("Loading under stress", .timeLimit(.minutes(10)))
struct LoadingStressTests {
    /// Where values come from: a version for each key, which changes.
    final class Origin: Sendable {
        private let versions: Mutex<[Int]>
        let loads = Counter()

        init(keys: Int) {
            versions = Mutex(Array(repeating: 0, count: keys))
        }

        func read(_ key: Int) async -> Int {
            loads.increment()
            let version = versions.withLock { $0[key] }
            // Time for a change to come in between what was read and what is stored.
            for _ in 0..<(version & 3) { await Task.yield() }
            return version
        }

        func change(_ key: Int) {
            versions.withLock { $0[key] += 1 }
        }

        func version(_ key: Int) -> Int { versions.withLock { $0[key] } }
    }

    enum Trouble: Error { case now }

    @Test("A thousand callers at once cause one load, time after time", arguments: CacheKind.allCases)
    func thousandCallers(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        for round in 0..<20 {
            let origin = Origin(keys: 1)
            let gate = Gate()
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<1000 {
                    group.addTask {
                        await cache.value(forKey: round) { () async -> Int in
                            await gate.pass()
                            return await origin.read(0)
                        }
                    }
                }
                await yieldUntil { cache.statistics.coalescedLoads == 999 * (round + 1) }
                gate.open()
                for await value in group { #expect(value == 0) }
            }
            #expect(origin.loads.value == 1)
        }
        #expect(cache.statistics.loads == 20)
    }

    @Test(
        "After every change that was told to the cache, it never holds what was read before the change",
        arguments: CacheKind.allCases
    )
    func changesWin(_ kind: CacheKind) async {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        let keys = 8
        let origin = Origin(keys: keys)
        let cache = EitherCache<Int>(kind)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = SplitMix64(seed: seed &+ UInt64(worker))
                    for _ in 0..<1000 {
                        let key = Int.random(in: 0..<keys, using: &random)
                        switch Int.random(in: 0..<20, using: &random) {
                        case 0:
                            origin.change(key)
                            cache.removeValue(forKey: key)
                        case 1:
                            origin.change(key)
                            cache.removeAll()
                        case 2:
                            // A value of the present version, set beside loads of older ones; then it changes.
                            cache[key] = origin.version(key)
                            origin.change(key)
                            cache[key] = nil
                        case 3:
                            _ = try? await cache.value(forKey: key) { () async throws -> Int in throw Trouble.now }
                        case 4:
                            let task = Task {
                                try await cache.value(forKey: key) { () async throws -> Int in await origin.read(key) }
                            }
                            await Task.yield()
                            task.cancel()
                            _ = try? await task.value
                        case 5:
                            let asked = [key, (key + 1) % keys, (key + 2) % keys]
                            let found = await cache.values(forKeys: asked) { missing in
                                var values: [Int: Int] = [:]
                                for key in missing { values[key] = await origin.read(key) }
                                return values
                            }
                            #expect(found.count == 3)
                        default:
                            let value = await cache.value(forKey: key) { await origin.read(key) }
                            // A waiter may get what was read before a change, but nothing newer than there is.
                            #expect(value <= origin.version(key))
                        }
                    }
                }
            }
        }
        // Loads that were abandoned may still be ending: they must not store either.
        for _ in 0..<1000 { await Task.yield() }
        for key in 0..<keys {
            if let value = cache.value(forKey: key) { #expect(value == origin.version(key)) }
        }
        let statistics = cache.statistics
        #expect(statistics.loads >= statistics.loadFailures)
        print(statistics)
    }

    @Test("Cancelled waiters and those who stay never harm each other", arguments: CacheKind.allCases)
    func cancellation(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        for round in 0..<200 {
            let gate = Gate()
            let tasks = (0..<8).map { _ in
                Task {
                    try await cache.value(forKey: round) { () async throws -> Int in
                        await gate.pass()
                        return round
                    }
                }
            }
            await yieldUntil { cache.statistics.coalescedLoads == 7 * (round + 1) }
            // Seven leave while the load ends; whoever does not leave in time gets the value.
            let canceller = Task.detached { for task in tasks.dropLast() { task.cancel() } }
            gate.open()
            await canceller.value
            #expect((try? await tasks[7].value) == round)
            for task in tasks.dropLast() {
                switch await task.result {
                case .success(let value): #expect(value == round)
                case .failure(let error): #expect(error is CancellationError)
                }
            }
            #expect(cache.value(forKey: round) == round)
        }
        #expect(cache.statistics.loads == 200)
    }
}
