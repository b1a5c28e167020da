//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Loading: many keys in one call", .timeLimit(.minutes(10)))
struct LoadingBulkTests {
    enum Trouble: Error, Equatable { case first }

    @Test("Only what is missing is asked for, once, in one call")
    func oneCall() async {
        let cache = MemoryCache<Int, String>()
        cache[1] = "one"
        let asked = Mutex<[[Int]]>([])
        let values = await cache.values(forKeys: [1, 2, 3, 2, 1]) { keys in
            asked.withLock { $0.append(keys) }
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, "loaded \($0)") })
        }
        #expect(values == [1: "one", 2: "loaded 2", 3: "loaded 3"])
        #expect(asked.withLock { $0 } == [[2, 3]])
        #expect(cache[3] == "loaded 3")
        #expect(cache.statistics.loads == 1)
    }

    @Test("All hits make no closure and no load")
    func allHits() async {
        let cache = MemoryCache<Int, Int>()
        cache[1] = 1
        func loader() -> @Sendable ([Int]) async -> [Int: Int] {
            Issue.record("made the closure")
            return { _ in [:] }
        }
        #expect(await cache.values(forKeys: [1, 1], load: loader()) == [1: 1])
        #expect(await cache.values(forKeys: [], load: loader()) == [:])
    }

    @Test("Results may be partial, and values nobody asked for are ignored", arguments: CacheKind.allCases)
    func partial(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        #expect(await cache.values(forKeys: [1, 2]) { _ in [1: 10, 9: 90] } == [1: 10])
        #expect(cache.count == 1)
        #expect(cache.flightCount == 0)
    }

    @Test(
        "A key that is being loaded already is waited for, and shared the other way round",
        arguments: CacheKind.allCases
    )
    func shared(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        let (single, bulk) = (Gate(), Gate())
        let one = Task {
            await cache.value(forKey: 1) { () async -> Int in
                await single.pass()
                return 10
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 1) == 1 }
        let many = Task {
            await cache.values(forKeys: [1, 2, 3]) { keys in
                await bulk.pass()
                return Dictionary(uniqueKeysWithValues: keys.map { ($0, $0 * 100) })
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 3) == 1 }
        let two = Task { await cache.value(forKey: 2) { 0 } }
        await yieldUntil { cache.waiterCount(forKey: 2) == 2 }
        single.open()
        bulk.open()
        #expect(await many.value == [1: 10, 2: 200, 3: 300])
        #expect(await one.value == 10)
        #expect(await two.value == 200)
    }

    @Test("A caller whose key the bulk load has no value for loads for itself", arguments: CacheKind.allCases)
    func absentForSharer(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        let gate = Gate()
        let many = Task {
            await cache.values(forKeys: [1, 2]) { _ in
                await gate.pass()
                return [1: 10]
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 2) == 1 }
        let two = Task { await cache.value(forKey: 2) { 20 } }
        await yieldUntil { cache.waiterCount(forKey: 2) == 2 }
        gate.open()
        #expect(await many.value == [1: 10])
        #expect(await two.value == 20)
    }

    @Test("An error is thrown as it is, and nothing is left behind", arguments: CacheKind.allCases)
    func failure(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        do throws(Trouble) {
            _ = try await cache.values(forKeys: [1, 2]) { (_) async throws(Trouble) -> [Int: Int] in throw .first }
            Issue.record("did not throw")
        } catch {
            #expect(error == .first)
        }
        #expect(cache.count == 0 && cache.flightCount == 0)
        #expect(cache.statistics.loadFailures == 1)
    }

    @Test("If another one's load of a key fails, the key goes into a call of one's own", arguments: CacheKind.allCases)
    func failureOfOther(_ kind: CacheKind) async throws {
        let cache = EitherCache<Int>(kind)
        let gate = Gate()
        let one = Task {
            try await cache.value(forKey: 1) { () async throws -> Int in
                await gate.pass()
                throw Trouble.first
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 1) == 1 }
        let many = Task {
            try await cache.values(forKeys: [1, 2]) { (keys) async throws -> [Int: Int] in
                Dictionary(uniqueKeysWithValues: keys.map { ($0, $0 * 10) })
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 1) == 2 }
        gate.open()
        await #expect(throws: Trouble.first) { try await one.value }
        #expect(try await many.value == [1: 10, 2: 20])
    }

    @Test("A change of one key during the load keeps that one out", arguments: CacheKind.allCases)
    func change(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        let gate = Gate()
        let many = Task {
            await cache.values(forKeys: [1, 2, 3]) { _ in
                await gate.pass()
                return [1: 10, 2: 20, 3: 30]
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 3) == 1 }
        cache.removeValue(forKey: 1)
        cache[2] = 0
        gate.open()
        #expect(await many.value == [1: 10, 2: 20, 3: 30])
        #expect(cache[1] == nil && cache[2] == 0 && cache[3] == 30)
    }

    @Test("The load is cancelled when nobody wants any of its keys, and not before", arguments: CacheKind.allCases)
    func cancellation(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        let cancellations = Counter()
        let gate = Gate()
        let many = Task {
            try await cache.values(forKeys: [1, 2]) { (_) async throws -> [Int: Int] in
                await withTaskCancellationHandler {
                    await gate.pass()
                } onCancel: {
                    cancellations.increment()
                    gate.open()
                }
                return [1: 10, 2: 20]
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 2) == 1 }
        let two = Task { try await cache.value(forKey: 2) { () async throws -> Int in 0 } }
        await yieldUntil { cache.waiterCount(forKey: 2) == 2 }
        many.cancel()
        await #expect(throws: CancellationError.self) { try await many.value }
        #expect(cancellations.value == 0)
        two.cancel()
        await #expect(throws: CancellationError.self) { try await two.value }
        await gate.pass()
        #expect(cancellations.value == 1)
        await yieldUntil { cache.flightCount == 0 }
        #expect(cache.count == 0)
    }

    @Test(
        "An error of the load made here is thrown without waiting for the loads of others",
        arguments: CacheKind.allCases
    )
    func failureBesideASharedLoad(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        let gate = Gate()
        let one = Task {
            await cache.value(forKey: 1) { () async -> Int in
                await gate.pass()
                return 10
            }
        }
        await yieldUntil { cache.waiterCount(forKey: 1) == 1 }
        await #expect(throws: Trouble.first) {
            try await cache.values(forKeys: [1, 2]) { (_) async throws -> [Int: Int] in throw Trouble.first }
        }
        #expect(cache.waiterCount(forKey: 1) == 1)
        gate.open()
        #expect(await one.value == 10)
        #expect(cache[1] == 10)
    }

    @Test(
        "A key that turns up before the load begins does not keep the load from being cancelled",
        arguments: CacheKind.allCases
    )
    func cancellationBesideALateHit(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        let (begun, cancellations) = (Counter(), Counter())
        let gate = Gate()
        let many = Task {
            // Key 1 is missed, and then set while the second key is looked up.
            let keys = [1, 2].lazy.map { key in
                if key == 2 { cache[1] = 10 }
                return key
            }
            return try await cache.values(forKeys: keys) { missing async throws -> [Int: Int] in
                #expect(missing == [2])
                begun.increment()
                await withTaskCancellationHandler {
                    await gate.pass()
                } onCancel: {
                    cancellations.increment()
                    gate.open()
                }
                return [2: 20]
            }
        }
        // A load that has not begun when nobody wants it any more is never called.
        await yieldUntil { begun.value == 1 && cache.waiterCount(forKey: 2) == 1 }
        many.cancel()
        await #expect(throws: CancellationError.self) { try await many.value }
        await yieldUntil { cancellations.value == 1 }
        gate.open()
        await yieldUntil { cache.flightCount == 0 }
        #expect(cache[1] == 10 && cache[2] == nil)
    }

    @Test("A bulk load that asks for one of its own keys is told so", arguments: CacheKind.allCases)
    func recursion(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        await #expect(throws: CacheLoadingError.recursiveLoad(key: "2")) {
            try await cache.values(forKeys: [1, 2]) { (_) async throws -> [Int: Int] in
                [2: try await cache.value(forKey: 2) { () async throws -> Int in 1 }]
            }
        }
    }
}
