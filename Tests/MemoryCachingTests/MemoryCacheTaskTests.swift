//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("MemoryCache: peek, get or set, update, list, remove by predicate", .timeLimit(.minutes(10)))
struct MemoryCacheTaskTests {
    enum Trouble: Error { case now }

    /// Has three bytes between its fields, which are nobody's.
    struct Gapped: Sendable, Equatable {
        var flag: UInt8
        var number: Int32
        var text: String
    }

    /// A key with an `==` of its own, so that it is compared outside the lock; two share a hash.
    struct ForeignKey: Hashable, Sendable {
        var name: Int
        static func == (left: Self, right: Self) -> Bool { left.name == right.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name / 2) }
    }

    // MARK: Peek

    @Test("A peek is no use of the entry and no lookup, and finds neither what has expired nor what is discarded")
    func peek() {
        let clock = ManualClock()
        let cache = MemoryCache<String, Int>(options: .init(expiresAfterAccess: .seconds(10), clock: clock))
        cache["a"] = 1
        let before = cache.statistics
        clock.advance(by: .seconds(6))
        #expect(cache.peekValue(forKey: "a") == 1)
        #expect(cache.peekValue(forKey: "b") == nil)
        #expect(cache.statistics.hits == before.hits && cache.statistics.misses == before.misses)
        // Had the peek counted as a use, the entry would live for another six seconds.
        clock.advance(by: .seconds(6))
        #expect(cache.peekValue(forKey: "a") == nil)
        #expect(cache.value(forKey: "a") == nil)

        let pages = MemoryCache<String, Page>()
        let page = Page()
        pages["a"] = page
        #expect(pages.peekValue(forKey: "a") === page)
        page.discardContentIfPossible()
        #expect(pages.peekValue(forKey: "a") == nil)
        pages.evictsValuesWithDiscardedContent = false
        #expect(pages.peekValue(forKey: "a") === page)
    }

    @Test("Peeked entries go before used ones")
    func peekedGoFirst() {
        let cache = MemoryCache<Int, Int>(countLimit: 3)
        for key in 0..<3 { cache[key] = key }
        #expect(cache.peekValue(forKey: 0) == 0)
        #expect(cache[1] == 1 && cache[2] == 2)
        cache[3] = 3
        #expect(cache.peekValue(forKey: 0) == nil)
    }

    // MARK: Get or set

    @Test("Get-or-set stores what it makes, once")
    func getOrSet() throws {
        let cache = MemoryCache<String, Int>()
        #expect(cache.value(forKey: "a") { 1 } == 1)
        #expect(cache.value(forKey: "a", orSet: { 2 }) == 1)
        #expect(throws: Trouble.now) {
            try cache.value(forKey: "b", orSet: { () throws(Trouble) -> Int in throw .now })
        }
        #expect(!cache.contains("b"))
        #expect(cache.loading.flights.count.load(ordering: .relaxed) == 0)
    }

    @Test("A bare closure is a load where it is awaited, and get-or-set where it is not")
    func bareClosures() async throws {
        let cache = MemoryCache<String, Int>()
        #expect(await cache.value(forKey: "a") { 1 } == 1)
        #expect(try await cache.value(forKey: "b") { try Self.two() } == 2)
        #expect(cache.statistics.loads == 2)
        func inPlainFunction() throws {
            #expect(cache.value(forKey: "c") { 1 } == 1)
            #expect(try cache.value(forKey: "d") { try Self.two() } == 2)
        }
        try inPlainFunction()
        #expect(cache.statistics.loads == 2)
    }

    static func two() throws -> Int { 2 }

    @Test("What is stored first wins: a set, or the same call made again inside")
    func firstWins() {
        let cache = MemoryCache<String, Int>()
        let set = cache.value(forKey: "a") {
            cache["a"] = 1
            return 2
        }
        #expect(set == 1 && cache["a"] == 1)
        let nested = cache.value(forKey: "b") { cache.value(forKey: "b") { 1 } + 1 }
        #expect(nested == 1 && cache["b"] == 1)
    }

    @Test("A removal while the value is made keeps it out", arguments: 0..<4)
    func removalWhileMaking(_ way: Int) {
        let cache = MemoryCache<String, Int>()
        let value = cache.value(forKey: "a") {
            switch way {
            case 0: cache.removeValue(forKey: "a")
            case 1: cache.removeAll()
            case 2: cache.removeAll { $0 == "a" }
            default:
                cache["a"] = 1
                cache["a"] = nil
            }
            return 2
        }
        #expect(value == 2)
        #expect(!cache.contains("a"))
        // What concerns other keys does not.
        let other = cache.value(forKey: "b") {
            cache.removeValue(forKey: "a")
            cache.removeAll { $0 == "a" }
            return 3
        }
        #expect(other == 3 && cache["b"] == 3)
    }

    @Test("A value that is refused is answered all the same; one that expires at once is not taken for another's")
    func refusedAndExpired() {
        let cache = MemoryCache<String, Int>(totalCostLimit: 10) { _, value in value }
        #expect(cache.value(forKey: "a") { 11 } == 11)
        #expect(!cache.contains("a"))
        #expect(cache.statistics.refusals == 1)

        let clock = ManualClock()
        let brief = MemoryCache<String, Int>(options: .init(expiresAfter: .seconds(1), clock: clock))
        let value = brief.value(forKey: "a") {
            brief["a"] = 1
            clock.advance(by: .seconds(2))
            return 2
        }
        // The other one's has been set, so that this one has been overtaken; but nobody can find that any more.
        #expect(value == 2)
    }

    /// A load of 1 for the key "a", under way until the gate is opened.
    private func gatedLoad(_ cache: MemoryCache<String, Int>) async -> (gate: Gate, load: Task<Int, Never>) {
        let gate = Gate()
        let load = Task {
            await cache.value(forKey: "a") { () async -> Int in
                await gate.pass()
                return 1
            }
        }
        await yieldUntil { cache.loading.waiterCount(forKey: "a") == 1 }
        return (gate, load)
    }

    @Test("A load under way goes on beside get-or-set, and what was stored first stays and is what both answer")
    func loadBesideGetOrSet() async {
        let cache = MemoryCache<String, Int>()
        let (gate, load) = await gatedLoad(cache)
        #expect(cache.value(forKey: "a", orSet: { 2 }) == 2)
        gate.open()
        #expect(await load.value == 2)
        #expect(cache["a"] == 2)
    }

    // MARK: Update

    @Test("An update changes, makes and removes")
    func update() {
        let cache = MemoryCache<String, Int>()
        #expect(cache.updateValue(forKey: "a") { $0 = ($0 ?? 0) + 1 } == 1)
        #expect(cache.updateValue(forKey: "a") { $0 = ($0 ?? 0) + 1 } == 2)
        #expect(cache.updateValue(forKey: "a") { $0 = nil } == nil)
        #expect(!cache.contains("a"))
        var seen: Int? = 1
        #expect(cache.updateValue(forKey: "a") { seen = $0 } == nil)
        #expect(seen == nil)
        cache["a"] = 7
        #expect(throws: Trouble.now) {
            try cache.updateValue(forKey: "a") { (value: inout Int?) throws(Trouble) in
                value = 8
                throw .now
            }
        }
        #expect(cache["a"] == 7)
    }

    @Test("A change meanwhile has the update made again, on what is there then", arguments: 0..<5)
    func changedMeanwhile(_ way: Int) {
        let clock = ManualClock()
        let cache = MemoryCache<String, Gapped>(options: .init(expiresAfter: .seconds(10), clock: clock))
        cache["a"] = Gapped(flag: 1, number: 1, text: "one")
        var seen: [Int32?] = []
        let result = cache.updateValue(forKey: "a") { value in
            seen.append(value?.number)
            if seen.count == 1 {
                switch way {
                case 0: cache["a"] = Gapped(flag: 1, number: 2, text: "two")
                case 1: cache.removeValue(forKey: "a")
                case 2: cache.trim(toCount: 0)
                case 3: clock.advance(by: .seconds(11))
                default: cache.updateValue(forKey: "a") { $0?.number += 1 }
                }
            }
            value = Gapped(flag: 0, number: (value?.number ?? 10) + 1, text: "updated")
        }
        let isThere = way == 0 || way == 4
        #expect(seen == [1, isThere ? 2 : nil])
        #expect(result?.number == (isThere ? 3 : 11))
        #expect(cache["a"] == result)
    }

    @Test("An update that would remove, or make, does so only to what it saw")
    func removalAndMaking() {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        var seen: [Int?] = []
        cache.updateValue(forKey: "a") { value in
            seen.append(value)
            if seen.count == 1 { cache["a"] = 2 }
            value = value == 1 ? nil : value
        }
        #expect(seen == [1, 2] && cache["a"] == 2)
        seen = []
        cache.updateValue(forKey: "b") { value in
            seen.append(value)
            if seen.count == 1 { cache["b"] = 5 }
            value = (value ?? 0) + 1
        }
        #expect(seen == [nil, 5] && cache["b"] == 6)
    }

    @Test("Setting the equal value meanwhile is no change that matters; other keys of the hash are none either")
    func equalAndColliding() {
        let cache = MemoryCache<ForeignKey, String>()
        let long = String(repeating: "x", count: 100)
        cache[ForeignKey(name: 0)] = long
        cache[ForeignKey(name: 1)] = "other"
        var runs = 0
        let result = cache.updateValue(forKey: ForeignKey(name: 0)) { value in
            runs += 1
            cache[ForeignKey(name: 1)] = "another"
            value?.append("y")
        }
        #expect(runs == 1 && result == long + "y")
        #expect(cache[ForeignKey(name: 0)] == result && cache[ForeignKey(name: 1)] == "another")
    }

    @Test("Discarded content is seen as nothing, and replaced; what is refused is answered")
    func discardedAndRefused() {
        let pages = MemoryCache<String, Page>()
        let (old, new) = (Page(), Page())
        pages["a"] = old
        old.discardContentIfPossible()
        pages.updateValue(forKey: "a") { page in
            #expect(page == nil)
            page = new
        }
        #expect(pages.peekValue(forKey: "a") === new)

        let cache = MemoryCache<String, Int>(totalCostLimit: 10) { _, value in value }
        cache["a"] = 4
        #expect(cache.updateValue(forKey: "a") { $0? += 20 } == 24)
        #expect(!cache.contains("a"))
        #expect(cache.statistics.refusals == 1)
    }

    @Test("An update of a value that is large beside the limit holds too")
    func large() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 100_000) { _, value in value }
        for key in 0..<10_000 { cache[key] = 10 }
        cache[0] = 10
        #expect(cache.updateValue(forKey: 0) { $0? += 50_000 } == 50_010)
        #expect(cache.peekValue(forKey: 0) == 50_010)
        var runs = 0
        cache.updateValue(forKey: 0) { value in
            runs += 1
            if runs == 1 { cache[0] = 1 }
            value = (value ?? 0) + 60_000
        }
        #expect(runs == 2 && cache.peekValue(forKey: 0) == 60_001)
        #expect(cache.totalCost <= 100_000)
        cache.engine._checkInvariants()
    }

    @Test("An update keeps a load that is under way from storing")
    func updateBesideLoad() async {
        let cache = MemoryCache<String, Int>()
        let (gate, load) = await gatedLoad(cache)
        cache.updateValue(forKey: "a") { $0 = 2 }
        cache.updateValue(forKey: "a") { $0 = nil }
        gate.open()
        #expect(await load.value == 1)
        #expect(!cache.contains("a"))
    }

    // MARK: The whole

    @Test("Removing by predicate removes those and no others", arguments: [10, 10_000])
    func removeWhere(_ count: Int) {
        let removals = Counter()
        let cache = MemoryCache<Int, Int>(
            options: .init(removalHandler: { _, _, cause in if cause == .removed { removals.increment() } })
        )
        for key in 0..<count { cache[key] = key }
        cache.removeAll { key in
            // It may use the cache.
            cache.peekValue(forKey: key)! % 2 == 0
        }
        #expect(cache.count == count / 2 && removals.value == count / 2)
        #expect((0..<count).allSatisfy { cache.contains($0) == ($0 % 2 == 1) })
        cache.engine._checkInvariants()
    }

    @Test("Loads of keys that are removed by predicate store nothing, their waiters get what was loaded")
    func removeWhereBesideLoads() async {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        let keys = ["user/1", "user/2", "item/1"]
        let loads = keys.map { key in
            Task {
                await cache.value(forKey: key) { () async -> Int in
                    await gate.pass()
                    return 1
                }
            }
        }
        await yieldUntil { keys.allSatisfy { cache.loading.waiterCount(forKey: $0) == 1 } }
        cache.removeAll { $0.hasPrefix("user/") }
        // Those who come now start afresh.
        #expect(await cache.value(forKey: "user/1") { 2 } == 2)
        gate.open()
        for load in loads { #expect(await load.value == 1) }
        #expect(cache["user/1"] == 2 && cache["user/2"] == nil && cache["item/1"] == 1)
    }

    @Test("Failures of keys that are removed by predicate are forgotten")
    func removeWhereForgetsFailures() async throws {
        let cache = MemoryCache<String, Int>(options: .init(failureLifetime: .seconds(3600)))
        for key in ["a", "b"] {
            await #expect(throws: Trouble.now) {
                try await cache.value(forKey: key) { () async throws -> Int in throw Trouble.now }
            }
        }
        cache.removeAll { $0 == "a" }
        #expect(try await cache.value(forKey: "a") { () async throws -> Int in 1 } == 1)
        await #expect(throws: Trouble.now) { try await cache.value(forKey: "b") { () async throws -> Int in 1 } }
    }

    @Test("A list is in the order of keeping, counts as no use, and leaves out what has expired or is discarded")
    func entries() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(options: .init(clock: clock))
        for key in 0..<5000 { cache[key] = -key }
        for key in stride(from: 0, to: 5000, by: 7) { _ = cache[key] }
        cache.setValue(1, forKey: 9999, expiresAfter: .seconds(1))
        clock.advance(by: .seconds(2))
        let before = cache.statistics
        let all = cache.entries()
        #expect(all.count == 5000)
        #expect(all.allSatisfy { $0.value == -$0.key })
        #expect(all.map(\.key) == cache.hottestKeys())
        #expect(cache.entries(limit: 3).map(\.key) == cache.hottestKeys(3))
        #expect(cache.entries(limit: 0).isEmpty && cache.entries(limit: -1).isEmpty)
        #expect(cache.statistics.hits == before.hits)

        let pages = MemoryCache<Int, Page>()
        for key in 0..<3 { pages[key] = Page() }
        pages.peekValue(forKey: 1)?.discardContentIfPossible()
        #expect(Set(pages.entries().map(\.key)) == [0, 2])
    }
}
