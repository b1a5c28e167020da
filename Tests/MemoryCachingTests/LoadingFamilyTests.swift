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

@Suite("Loading: the same of both caches", .timeLimit(.minutes(10)))
struct LoadingFamilyTests {
    enum Trouble: Error { case now }

    /// A cache of each kind: integer keys, other keys.
    static let faces: [any LoadingFace<String>.Type] = [MemoryCache<String, [UInt8]>.self, PurgeableCache<String>.self]
    static let integerFaces: [any LoadingFace<Int>.Type] = [MemoryCache<Int, [UInt8]>.self, PurgeableCache<Int>.self]

    @Test("A thousand callers cause one load, and find it stored", arguments: [0, 1])
    func thousandCallers(_ kind: Int) async throws {
        let cache = Self.faces[kind].init(.init())
        let (gate, calls) = (Gate(), Counter())
        let load: @Sendable () async throws -> [UInt8] = {
            await gate.pass()
            return [UInt8(calls.increment())]
        }
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<1000 { group.addTask { try await cache.get("a", load) } }
            await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1000 }
            gate.open()
            for try await bytes in group { #expect(bytes == [1]) }
        }
        #expect(calls.value == 1 && cache.get("a") == [1])
        #expect(cache.statistics.loads == 1 && cache.statistics.coalescedLoads == 999)
    }

    @Test("The last waiter to leave cancels the load, whose result stays out", arguments: [0, 1])
    func cancellation(_ kind: Int) async {
        let cache = Self.faces[kind].init(.init())
        let gate = Gate()
        let task = Task {
            try await cache.get("a") {
                await gate.pass()
                return [1]
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        await yieldUntil { cache.loading.flights.count.load(ordering: .relaxed) == 0 }
        #expect(cache.peek("a") == nil)
    }

    @Test("A change during a load or a refresh wins", arguments: [0, 1], 0..<10)
    func changesWin(_ kind: Int, _ way: Int) async throws {
        let cache = Self.faces[kind].init(.init())
        cache.set("b", [9], nil)
        if way >= 5 { cache.set("a", [0], nil) }
        let load: @Sendable () async throws -> [UInt8] = {
            switch way % 5 {
            case 0: cache.remove("a")
            case 1: cache.removeAll()
            case 2: cache.removeAll { $0 == "a" }
            case 3: cache.set("a", [5], nil)
            default: _ = cache.update("a") { $0 = [6] }
            }
            return [1]
        }
        let bytes = try await way < 5 ? cache.get("a", load) : cache.refresh("a", load)
        #expect(bytes == [1])
        #expect(cache.get("a") == (way % 5 == 3 ? [5] : way % 5 == 4 ? [6] : nil))
        #expect(cache.get("b") == (way % 5 == 1 ? nil : [9]))
    }

    @Test("Lifetimes end, renew, and end what is listed and counted", arguments: [0, 1])
    func lifetimes(_ kind: Int) async throws {
        let clock = ManualClock()
        let cache = Self.faces[kind].init(.init(expiresAfter: .seconds(10), clock: clock))
        cache.set("a", [1], nil)
        cache.set("b", [2], .seconds(20))
        #expect(try await cache.get("c") { [3] } == [3])
        clock.advance(by: .seconds(9))
        #expect(cache.get("a") == [1])
        cache.set("a", [4], nil)
        clock.advance(by: .seconds(1))
        #expect(cache.get("c") == nil && cache.peek("c") == nil)
        #expect(cache.get("a") == [4] && cache.get("b") == [2])
        clock.advance(by: .seconds(9))
        #expect(cache.peek("a") == nil)
        #expect(Set(cache.hottestKeys(.max)) == ["b"])
        #expect(cache.count == 1)
        #expect(cache.statistics.removalCounts[.expired] == 2)
        // A load stores over what has expired.
        clock.advance(by: .seconds(5))
        #expect(try await cache.get("b") { [7] } == [7])
        #expect(cache.get("b") == [7])
    }

    @Test("Entries that nobody uses expire where the options say so", arguments: [0, 1])
    func idle(_ kind: Int) {
        let clock = ManualClock()
        let cache = Self.integerFaces[kind].init(.init(expiresAfterAccess: .seconds(10), clock: clock))
        for key in 0..<3 { cache.set(key, [UInt8(key)], nil) }
        clock.advance(by: .seconds(6))
        #expect(cache.get(1) == [1] && cache.peek(2) == [2])
        clock.advance(by: .seconds(6))
        #expect(cache.get(0) == nil && cache.get(1) == [1] && cache.get(2) == nil)
    }

    @Test("A stale value is answered at once and refreshed once, in the background", arguments: [0, 1])
    func stale(_ kind: Int) async throws {
        let clock = ManualClock()
        let cache = Self.faces[kind].init(.init(expiresAfter: .seconds(10), staleWindow: .seconds(4), clock: clock))
        let calls = Counter()
        let load: @Sendable () async throws -> [UInt8] = {
            if calls.increment() == 1 { throw Trouble.now }
            return [2]
        }
        cache.set("a", [1], nil)
        clock.advance(by: .seconds(7))
        for _ in 0..<3 {
            #expect(try await cache.get("a", load) == [1])
            await yieldUntil { cache.loading.flights.count.load(ordering: .relaxed) == 0 }
        }
        // It has failed, and is not tried again in this window.
        #expect(calls.value == 1)
        cache.set("a", [1], nil)
        clock.advance(by: .seconds(7))
        #expect(try await cache.get("a", load) == [1])
        await yieldUntil { cache.loading.flights.count.load(ordering: .relaxed) == 0 }
        #expect(calls.value == 2 && cache.get("a") == [2])
    }

    @Test("One call loads what is missing of many", arguments: [0, 1])
    func bulk(_ kind: Int) async throws {
        let cache = Self.integerFaces[kind].init(.init())
        cache.set(1, [1], nil)
        let found = try await cache.get([1, 2, 3, 2]) { missing in
            #expect(missing == [2, 3])
            return [2: [2]]
        }
        #expect(found == [1: [1], 2: [2]])
        #expect(cache.get(2) == [2] && cache.get(3) == nil)
    }

    @Test("Failures are remembered where the options say so", arguments: [0, 1])
    func failures(_ kind: Int) async {
        let cache = Self.faces[kind].init(.init(failureLifetime: .seconds(3600)))
        for _ in 0..<2 { await #expect(throws: Trouble.now) { try await cache.get("a") { throw Trouble.now } } }
        #expect(cache.statistics.loads == 1)
        cache.set("a", [1], nil)
        cache.remove("a")
        await #expect(throws: Trouble.now) { try await cache.get("a") { throw Trouble.now } }
        #expect(cache.statistics.loads == 2)
    }

    @Test("Get-or-set and update hold against changes inside", arguments: [0, 1])
    func changesInside(_ kind: Int) {
        let cache = Self.faces[kind].init(.init())
        let made = cache.make("a") {
            cache.set("a", [1], nil)
            return [2]
        }
        #expect(made == [1] && cache.get("a") == [1])
        let removed = cache.make("b") {
            cache.remove("b")
            return [2]
        }
        #expect(removed == [2] && cache.get("b") == nil)
        var runs = 0
        let updated = cache.update("a") { bytes in
            runs += 1
            switch runs {
            case 1: cache.set("a", [10], nil)
            case 2: cache.remove("a")
            case 3: cache.set("a", [20], nil)
            case 4: cache.trim(toCount: 0)
            default: break
            }
            bytes = [(bytes?[0] ?? 100) + 1]
        }
        #expect(runs == 5 && updated == [101] && cache.get("a") == [101])
        #expect(cache.update("a") { $0 = nil } == nil)
        #expect(cache.get("a") == nil)
    }

    @Test("Removing by predicate takes those and no others, in few and in many", arguments: [0, 1], [10, 10_000])
    func removeWhere(_ kind: Int, _ count: Int) {
        let cache = Self.integerFaces[kind].init(.init())
        for key in 0..<count { cache.set(key, [UInt8(key % 200)], .seconds(3600)) }
        cache.removeAll { $0 % 2 == 0 }
        for key in 0..<count where (cache.get(key) != nil) != (key % 2 == 1) { Issue.record("key \(key)") }
        #expect(cache.count == count / 2)
    }

    /// A key that is not equal to itself, as a number that is none.
    struct Stranger: Hashable, Sendable {
        let name: String
        static func == (left: Stranger, right: Stranger) -> Bool { false }
    }

    @Test("Removing by predicate takes entries whose keys are not equal to themselves", arguments: [0, 1])
    func removeUnequal(_ kind: Int) {
        func check<Face: LoadingFace>(_ face: Face.Type, _ unequal: Face.Key, _ equal: Face.Key) {
            let cache = face.init(MemoryCacheOptions<Face.Key, [UInt8]>())
            for value in 0..<100 as Range<UInt8> { cache.set(unequal, [value], nil) }
            cache.set(equal, [100], .seconds(3600))
            #expect(cache.count == 101)
            cache.removeAll { $0 != $0 }
            #expect(cache.count == 1 && cache.get(equal) == [100])
            #expect(cache.statistics.removalCounts[.removed] == 100)
        }
        let stranger = Stranger(name: "a stranger with a long name")
        if kind == 0 {
            check(MemoryCache<Double, [UInt8]>.self, .nan, 1)
            check(MemoryCache<Stranger?, [UInt8]>.self, stranger, nil)
        } else {
            check(PurgeableCache<Double>.self, .nan, 1)
            check(PurgeableCache<Stranger?>.self, stranger, nil)
        }
    }

    @Test("Removing by predicate misses nothing though the cache splits meanwhile", arguments: [0, 1])
    func removeBesideSplit(_ kind: Int) {
        let cache = Self.integerFaces[kind].init(.init())
        for key in 0..<500 { cache.set(key, [1], nil) }
        var calls = 0
        cache.removeAll { key in
            calls += 1
            if calls == 100 { for other in 1_000..<20_000 { cache.set(other, [2], nil) } }
            return key < 500
        }
        #expect((0..<500).allSatisfy { cache.get($0) == nil })
        #expect(cache.count == 19_000)
        #expect(cache.hottestKeys(.max).count == 19_000)
    }

    @Test("The removal handler hears of each entry once, with its value", arguments: [0, 1])
    func handler(_ kind: Int) async throws {
        let clock = ManualClock()
        let heard = Mutex<[String: RemovalCause]>([:])
        let cache = Self.faces[kind].init(
            .init(
                removalHandler: { key, bytes, cause in
                    let old = heard.withLock { $0.updateValue(cause, forKey: "\(key) \(bytes)") }
                    #expect(old == nil)
                },
                clock: clock
            )
        )
        cache.set("a", [1], nil)
        cache.set("a", [2], nil)
        cache.remove("a")
        cache.set("b", [3], .seconds(1))
        clock.advance(by: .seconds(2))
        #expect(cache.get("b") == nil)
        cache.set("c", [4], nil)
        cache.trim(toCount: 0)
        cache.set("d", [5], nil)
        cache.removeAll()
        let expected: [String: RemovalCause] = [
            "a [1]": .replaced, "a [2]": .removed, "b [3]": .expired, "c [4]": .countLimit, "d [5]": .removed,
        ]
        #expect(heard.withLock { $0 } == expected)
    }

    @Test("Entries are listed with their values, those that are kept longest first, and not used", arguments: [0, 1])
    func entries(_ kind: Int) {
        let clock = ManualClock()
        let cache = Self.integerFaces[kind].init(.init(clock: clock))
        for key in 0..<100 { cache.set(key, [UInt8(key)], key < 10 ? .seconds(1) : nil) }
        clock.advance(by: .seconds(2))
        let before = cache.statistics.hits
        let all = cache.listed(.max)
        #expect(all == Dictionary(uniqueKeysWithValues: (10..<100).map { ($0, [UInt8($0)]) }))
        #expect(Set(cache.listed(7).keys) == Set(cache.hottestKeys(7)) && cache.listed(7).count == 7)
        #expect(cache.listed(0).isEmpty && cache.listed(-3).isEmpty)
        #expect(cache.statistics.hits == before)
    }

    @Test("No load or get-or-set leaves what was read before a change that was told", arguments: [0, 1])
    func stress(_ kind: Int) async {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        let keys = 8
        let cache = Self.integerFaces[kind].init(.init())
        let versions = (0..<keys).map { _ in Version() }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = SplitMix64(seed: seed &+ UInt64(worker))
                    for _ in 0..<500 {
                        let key = Int.random(in: 0..<keys, using: &random)
                        let version = versions[key]
                        switch Int.random(in: 0..<16, using: &random) {
                        case 0:
                            version.change()
                            cache.remove(key)
                        case 1:
                            for version in versions { version.change() }
                            cache.removeAll()
                        case 2:
                            for key in stride(from: 0, to: keys, by: 2) { versions[key].change() }
                            cache.removeAll { $0 % 2 == 0 }
                        case 3: _ = try? await cache.get(key) { throw Trouble.now }
                        case 4: _ = cache.make(key) { version.bytes }
                        case 5: _ = try? await cache.refresh(key) { await version.read() }
                        case 6: cache.trim(toCount: 4)
                        case 7:
                            let task = Task { try await cache.get(key) { await version.read() } }
                            await Task.yield()
                            task.cancel()
                            _ = try? await task.value
                        case 8:
                            _ = try? await cache.get([key, (key + 1) % keys]) { missing in
                                var found: [Int: [UInt8]] = [:]
                                for key in missing { found[key] = await versions[key].read() }
                                return found
                            }
                        default: _ = try? await cache.get(key) { await version.read() }
                        }
                    }
                }
            }
        }
        await yieldUntil { cache.loading.flights.count.load(ordering: .relaxed) == 0 }
        for key in 0..<keys {
            if let bytes = cache.get(key) { #expect(bytes == versions[key].bytes) }
        }
    }

    /// What a key's value is made of.
    final class Version: Sendable {
        private let number = Atomic<Int>(0)

        func change() { number.add(1, ordering: .sequentiallyConsistent) }

        var bytes: [UInt8] {
            withUnsafeBytes(of: number.load(ordering: .sequentiallyConsistent)) { Array($0) }
        }

        /// Gives a change time to come in between what is read and what is stored.
        func read() async -> [UInt8] {
            let bytes = bytes
            for _ in 0..<(bytes[0] & 3) { await Task.yield() }
            return bytes
        }
    }

    @Test("No update is lost, of any number of threads", arguments: [0, 1])
    func updates(_ kind: Int) async {
        let cache = Self.integerFaces[kind].init(.init())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for step in 0..<1000 {
                        _ = cache.update(step % 4) { bytes in
                            let old = bytes?.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } ?? 0
                            bytes = withUnsafeBytes(of: old + 1) { Array($0) }
                        }
                    }
                }
            }
        }
        for key in 0..<4 {
            #expect(cache.get(key)?.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } == 1000)
        }
    }

    @Test(
        "An update that removes what was not there removes what has come meanwhile",
        arguments: [0, 1],
        [false, true]
    )
    func removalOfWhatComes(_ kind: Int, hasFallback: Bool) {
        let clock = ManualClock()
        let cache = Self.integerFaces[kind].init(
            .init(expiresAfter: .seconds(10), keepsExpiredFor: hasFallback ? .seconds(100) : nil, clock: clock)
        )
        if hasFallback {
            _ = cache.make(1) { [1] }
            clock.advance(by: .seconds(20))
        }
        var seen: [[UInt8]?] = []
        let left = cache.update(1) { bytes in
            seen.append(bytes)
            if seen.count == 1 { _ = cache.make(1) { [7] } }
            bytes = .none
        }
        #expect(left == nil && cache.peek(1) == nil && cache.count == 0)
        let expected: [[UInt8]?] = [nil, [7]]
        #expect(seen == expected)
        // With nothing there it runs once.
        _ = cache.update(1) { bytes in seen.append(bytes) }
        #expect(seen == expected + [nil])
    }
}
