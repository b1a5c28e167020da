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

@Suite("Loading: the task that loads", .timeLimit(.minutes(10)))
struct LoadingTaskTests {
    @TaskLocal static var request = "none"

    @Test("The load sees the task-local values of the first caller")
    func taskLocals() async {
        let cache = MemoryCache<String, String>()
        let value = await Self.$request.withValue("first") {
            await cache.value(forKey: "a") { Self.request }
        }
        #expect(value == "first")
    }

    @Test("The load has the first caller's priority, which a more urgent caller raises")
    func priority() async {
        let cache = MemoryCache<String, TaskPriority>()
        let gate = Gate()
        let began = Mutex<TaskPriority?>(nil)
        let slow = Task.detached(priority: .background) {
            await cache.value(forKey: "a") { () async -> TaskPriority in
                began.withLock { $0 = Task.currentPriority }
                await gate.pass()
                return Task.currentPriority
            }
        }
        await yieldUntil { began.withLock { $0 != nil } }
        #expect(began.withLock { $0 } == .background)
        let urgent = Task.detached(priority: .high) { await cache.value(forKey: "a") { .low } }
        // Joining comes first, then raising the priority, then suspending.
        await yieldUntil { cache.loading.flights.flight(of: "a")?.suspendedCount == 2 }
        gate.open()
        #expect(await urgent.value == .high)
        #expect(await slow.value == .high)
    }

    @Test("A waiter that becomes more urgent passes its priority on")
    func escalationOfWaiter() async {
        let cache = MemoryCache<String, TaskPriority>()
        let gate = Gate()
        let waiter = Task.detached(priority: .background) {
            await cache.value(forKey: "a") { () async -> TaskPriority in
                await gate.pass()
                return Task.currentPriority
            }
        }
        await yieldUntil { cache.loading.flights.flight(of: "a")?.suspendedCount == 1 }
        waiter.escalatePriority(to: .high)
        gate.open()
        #expect(await waiter.value == .high)
    }

    @Test("A waiter for many loads that becomes more urgent passes its priority on to all of them")
    func escalationOfBulkWaiter() async {
        let cache = MemoryCache<Int, TaskPriority>()
        let gate = Gate()
        let load: @Sendable () async -> TaskPriority = {
            await gate.pass()
            return Task.currentPriority
        }
        for key in 1...2 { Task.detached(priority: .background) { await cache.value(forKey: key, load: load) } }
        // Who has suspended has started its load: one that starts later is raised later, too.
        await yieldUntil { (1...2).allSatisfy { cache.loading.flights.flight(of: $0)?.suspendedCount == 1 } }
        let bulk = Task.detached(priority: .background) {
            await cache.values(forKeys: [1, 2, 3]) { _ in [3: await load()] }
        }
        // It waits for its own load first, and for the others afterwards.
        await yieldUntil { cache.loading.flights.flight(of: 3)?.suspendedCount == 1 }
        bulk.escalatePriority(to: .high)
        gate.open()
        #expect(await bulk.value == [1: .high, 2: .high, 3: .high])
    }

    @Test("The duration of the load is counted", arguments: CacheKind.allCases)
    func loadTime(_ kind: CacheKind) async {
        let clock = ManualClock()
        let cache = EitherCache<String>(kind, options: .init(clock: clock))
        _ = await cache.value(forKey: "a") { () async -> Int in
            clock.advance(by: .milliseconds(250))
            return 1
        }
        #expect(cache.statistics.totalLoadTime == .milliseconds(250))
    }

    @Test("What was slow to load outlives what was fast, and the owner may say otherwise", arguments: [false, true])
    func recomputeCost(isOverridden: Bool) async {
        let clock = ManualClock()
        let asked = Mutex<[String: Duration]>([:])
        var options = MemoryCacheOptions<String, Int>(clock: clock)
        if isOverridden {
            options.recomputeCost = { key, _, duration in
                asked.withLock { $0[key] = duration }
                return key == "slow" ? 0.001 : 10
            }
        }
        let cache = MemoryCache<String, Int>(countLimit: 100, options: options)
        for (key, milliseconds) in [("slow", 10_000), ("fast", 1)] {
            _ = await cache.value(forKey: key) { () async -> Int in
                clock.advance(by: .milliseconds(milliseconds))
                return 1
            }
        }
        if isOverridden {
            #expect(asked.withLock { $0 } == ["slow": .seconds(10), "fast": .milliseconds(1)])
        }
        #expect(cache.coldestKeys(1) == [isOverridden ? "slow" : "fast"])
    }

    // MARK: Recursion

    @Test("A load that asks for its own key is told so", arguments: CacheKind.allCases)
    func recursion(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        await #expect(throws: CacheLoadingError.recursiveLoad(key: "a")) {
            try await cache.value(forKey: "a") {
                try await cache.value(forKey: "a") { () async throws -> Int in 1 } + 1
            }
        }
        #expect(cache.count == 0)
        #expect(await cache.value(forKey: "a") { 7 } == 7)
    }

    @Test("Where the inner caller cannot be told, the outer one is", arguments: CacheKind.allCases)
    func recursionReportedOutside(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        await #expect(throws: CacheLoadingError.recursiveLoad(key: "a")) {
            try await cache.value(forKey: "a") { () async throws -> Int in
                await cache.value(forKey: "a") { 1 } + 1
            }
        }
        #expect(cache.count == 0)
    }

    @Test("Where no caller can be told, whoever watches the cache is", arguments: CacheKind.allCases)
    func recursionReportedToWatchers(_ kind: CacheKind) async {
        let errors = Mutex<[CacheLoadingError]>([])
        var options = MemoryCacheOptions<String, Int>()
        options.loadHandler = { load in
            guard case .failed(let error as CacheLoadingError) = load.result else { return }
            errors.withLock { $0.append(error) }
        }
        let cache = EitherCache<String>(kind, options: options)
        #expect(await cache.value(forKey: "a") { await cache.value(forKey: "a") { 1 } + 1 } == 2)
        #expect(cache.count == 0)
        #expect(cache.statistics.loadFailures == 1)
        #expect(errors.withLock { $0 } == [.recursiveLoad(key: "a")])
    }

    @Test("A refresh that asks for its own key is the one of its stale window", arguments: CacheKind.allCases)
    func recursionInRefresh(_ kind: CacheKind) async {
        enum Trouble: Error { case none }
        let clock = ManualClock()
        let options = MemoryCacheOptions<String, Int>(
            expiresAfter: .seconds(10),
            staleWindow: .seconds(5),
            clock: clock
        )
        let cache = EitherCache<String>(kind, options: options)
        cache["a"] = 1
        clock.advance(by: .seconds(6))
        let loads = Counter()
        for _ in 0..<5 {
            let value = await cache.value(forKey: "a") {
                loads.increment()
                // An error type that cannot tell of the recursion.
                return (try? await cache.refreshValue(forKey: "a") { () async throws(Trouble) in 5 }) ?? 0
            }
            #expect(value == 1)
            await yieldUntil { cache.flightCount == 0 }
        }
        #expect(loads.value == 1 && cache.statistics.loadFailures == 1)
    }

    @Test("A load that can only recurse ends the process rather than hang")
    func endlessRecursion() async {
        await #expect(processExitsWith: .failure) {
            let cache = MemoryCache<String, Int>()
            @Sendable func load() async -> Int { await cache.value(forKey: "a") { await load() } }
            _ = await load()
        }
    }

    @Test("Recursion is found around other keys and other caches", arguments: CacheKind.allCases)
    func recursionAround(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let other = EitherCache<Int>(kind)
        @Sendable func a() async throws -> Int { try await cache.value(forKey: "a") { try await b() } }
        @Sendable func b() async throws -> Int { try await other.value(forKey: 1) { try await c() } }
        @Sendable func c() async throws -> Int { try await cache.value(forKey: "c") { try await a() } }
        await #expect(throws: CacheLoadingError.recursiveLoad(key: "a")) { try await a() }
    }

    @Test("The caller that closes the circle is told, however fast the loads are", arguments: CacheKind.allCases)
    func recursionAroundQuickly(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        @Sendable func single(_ key: Int) async throws -> Int {
            try await cache.value(forKey: key) { try await bulk(key + 1) }
        }
        @Sendable func bulk(_ key: Int) async throws -> Int {
            try await cache.values(forKeys: [key, key + 1]) { _ in [key: try await single(key - 1)] }[key] ?? 0
        }
        var reports: [String: Int] = [:]
        for round in 0..<5_000 {
            let key = round * 3
            do {
                reports["no error but \(try await single(key))", default: 0] += 1
            } catch {
                if error as? CacheLoadingError != .recursiveLoad(key: "\(key)") { reports["\(error)", default: 0] += 1 }
            }
        }
        #expect(reports.isEmpty)
    }

    @Test("Recursion is found in child tasks, and in tasks that the load waits for", arguments: CacheKind.allCases)
    func recursionInOtherTasks(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let again = { @Sendable () async throws -> Int in
            try await cache.value(forKey: "a") { () async throws -> Int in 1 }
        }
        let report = CacheLoadingError.recursiveLoad(key: "a")
        await #expect(throws: report) {
            try await cache.value(forKey: "a") { () async throws -> Int in
                try await withThrowingTaskGroup(of: Int.self) { group in
                    group.addTask(operation: again)
                    return try await group.next() ?? 0
                }
            }
        }
        await #expect(throws: report) {
            try await cache.value(forKey: "a") { () async throws -> Int in try await Task(operation: again).value }
        }
        #expect(cache.count == 0)
    }

    @Test("Two loads that ask for each other do not wait for ever", arguments: CacheKind.allCases)
    func mutualRecursion(_ kind: CacheKind) async {
        let cache = EitherCache<String>(kind)
        let bothLoading = Gate()
        let loads = Counter()
        @Sendable func load(_ key: String, then next: String) async throws -> Int {
            try await cache.value(forKey: key) { () async throws -> Int in
                if loads.increment() == 2 { bothLoading.open() }
                await bothLoading.pass()
                return try await cache.value(forKey: next) { () async throws -> Int in 1 }
            }
        }
        let results = await withTaskGroup(of: Bool.self, returning: [Bool].self) { group in
            group.addTask { (try? await load("a", then: "b")) == nil }
            group.addTask { (try? await load("b", then: "a")) == nil }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.contains(true))
        #expect(cache.flightCount == 0)
    }

    @Test("A load may ask for other keys", arguments: CacheKind.allCases)
    func nesting(_ kind: CacheKind) async {
        let cache = EitherCache<Int>(kind)
        @Sendable func fibonacci(_ n: Int) async -> Int {
            guard n > 1 else { return n }
            return await cache.value(forKey: n) { await fibonacci(n - 1) + fibonacci(n - 2) }
        }
        #expect(await fibonacci(50) == 12_586_269_025)
        #expect(cache.statistics.loads == 49)
    }

    // MARK: Keys that call back

    /// A key that looks into the table of flights whenever it is hashed or compared: either would hang under its lock.
    struct Meddler: Hashable, Sendable {
        final class Table: Sendable {
            let flights = FlightTable<Meddler, Int>()
            let isMeddling = Atomic<Bool>(false)
        }
        let name: Int
        let table: Table

        private func meddle() {
            guard table.isMeddling.exchange(true, ordering: .relaxed) == false else { return }
            _ = table.flights.flight(of: Meddler(name: -1, table: table))
            table.isMeddling.store(false, ordering: .relaxed)
        }
        static func == (left: Self, right: Self) -> Bool {
            left.meddle()
            return left.name == right.name
        }
        func hash(into hasher: inout Hasher) { meddle() }
    }

    @Test("Neither hash nor == of a key runs under a lock, and keys of one hash are told apart")
    func meddlingKeys() throws {
        let table = Meddler.Table()
        let run = LoadRun(priority: .medium)
        var flights: [Flight<Meddler, Int>] = []
        for name in 0..<10 {
            guard
                case .leads(let flight, _) = table.flights.board(
                    Meddler(name: name, table: table),
                    WaiterTerms((any Error).self, takesFallback: false),
                    throwing: Never.self,
                    makeRun: { run }
                )
            else {
                Issue.record("key \(name) was taken for another one")
                return
            }
            flights.append(flight)
        }
        for (name, flight) in flights.enumerated() {
            let key = Meddler(name: name, table: table)
            #expect(table.flights.flight(of: key) === flight)
            table.flights.revoke(key)
            #expect(flight.ticket.isRevoked)
            table.flights.land(flight, .value(name))
        }
        #expect(table.flights.count.load(ordering: .relaxed) == 0)
    }
}
