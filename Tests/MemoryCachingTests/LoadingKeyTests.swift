//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// All of one hash, with an `==` that runs what a test says.
private struct Hooked: Hashable, Sendable {
    /// A closure that is itself what a lock guards gets another wrapping with each access.
    struct Hook { var run: @Sendable () -> Void = {} }

    var number: Int
    static let hook = Mutex(Hook())

    init(_ number: Int) { self.number = number }
    func hash(into hasher: inout Hasher) {}
    static func == (left: Self, right: Self) -> Bool {
        hook.withLock { $0 }.run()
        return left.number == right.number
    }
}

@Suite("Loading: keys whose comparison uses the cache", .serialized, .timeLimit(.minutes(10)))
struct LoadingKeyTests {
    @Test("A load begins though each comparison makes and removes a value of the same hash", arguments: [0, 1])
    func comparisonMakesValues(_ kind: Int) async throws {
        let faces: [any LoadingFace<Hooked>.Type] = [MemoryCache<Hooked, [UInt8]>.self, PurgeableCache<Hooked>.self]
        let cache = faces[kind].init(MemoryCacheOptions<Hooked, [UInt8]>())
        let gate = Gate()
        let first = Task {
            try await cache.get(Hooked(1)) {
                await gate.pass()
                return [1]
            }
        }
        await yieldUntil { cache.loading.flights.count.load(ordering: .relaxed) == 1 }
        let calls = Counter()
        let isInside = Mutex(false)
        Hooked.hook.withLock {
            $0.run = {
                calls.increment()
                let isOuter = isInside.withLock { inside in
                    defer { inside = true }
                    return !inside
                }
                guard isOuter else { return }
                _ = cache.make(Hooked(3)) { [5] }
                cache.remove(Hooked(3))
                isInside.withLock { $0 = false }
            }
        }
        defer { Hooked.hook.withLock { $0.run = {} } }
        #expect(try await cache.get(Hooked(2)) { [2] } == [2])
        #expect(calls.value < 1_000)
        Hooked.hook.withLock { $0.run = {} }
        gate.open()
        #expect(try await first.value == [1])
    }

    @Test("A load begins though each comparison starts another one of the same hash")
    func comparisonStartsLoads() {
        let flights = FlightTable<Hooked, Int>()
        let terms = WaiterTerms(Never.self, takesFallback: false)
        @Sendable func board(_ number: Int) -> FlightTable<Hooked, Int>.Boarding {
            flights.board(Hooked(number), terms, throwing: Never.self, makeRun: { LoadRun(priority: .medium) })
        }
        _ = board(0)
        let state = Mutex((next: 2, isInside: false))
        Hooked.hook.withLock {
            $0.run = {
                let number = state.withLock { state -> Int? in
                    if state.isInside { return nil }
                    state.isInside = true
                    state.next += 1
                    return state.next
                }
                guard let number else { return }
                _ = board(number)
                state.withLock { $0.isInside = false }
            }
        }
        guard case .leads(let flight, _) = board(1) else {
            Issue.record("somebody else loads the key")
            return
        }
        Hooked.hook.withLock { $0.run = {} }
        #expect(flights.flight(of: Hooked(1)) === flight)
        // Callers of each key find its flight, and each is forgotten when it has landed.
        guard case .joined(let joined, _) = board(1) else {
            Issue.record("nobody loads the key")
            return
        }
        #expect(joined === flight)
        #expect(flights.count.load(ordering: .relaxed) < 2 * KeyHash<Hooked>.comparisonRounds)
    }
}
