//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import TieredCaching

@Suite("Lookups under way that newcomers must not share", .timeLimit(.minutes(10)))
struct RevokedFlightTests {
    struct Broken: Error {}
    let tests = TieredCacheTests()

    enum Interruption: CaseIterable { case reconnected, displaced }
    enum Change: CaseIterable { case removed, set, removedAll }

    @Test(
        "No old value is the fallback of a lookup whose key this process has changed, also where it was interrupted",
        arguments: Interruption.allCases,
        Change.allCases
    )
    func changedLater(_ interruption: Interruption, _ change: Change) async throws {
        let tier = tests.server.makeTier()
        let cache = try await tests.makeCacheOfExpired(tier, softLoadTimeout: .seconds(3600))
        let (begun, gate) = (Gate(), Gate())
        let lookup = Task {
            try await cache.value(forKey: 1) {
                begun.open()
                await gate.pass()
                throw Broken()
            }
        }
        await begun.pass()
        var displacing: Task<String, any Error>?
        switch interruption {
        case .reconnected:
            tier.disconnect()
            tier.connect()
            await yieldUntil { cache.isCoherent }
        case .displaced:
            tier.report(.invalidated(["cache:v1"]))
            await yieldUntil { cache.isCoherent }
            displacing = Task { try await cache.value(forKey: 1) { "new" } }
            await yieldUntil { cache.statistics.leaseWaits > 0 }
        }
        switch change {
        case .removed: try await cache.removeValue(forKey: 1)
        case .set: try await cache.setValue("new", forKey: 1)
        case .removedAll: try await cache.removeAll()
        }
        gate.open()
        await #expect(throws: Broken.self) { try await lookup.value }
        #expect(try await displacing?.value ?? "new" == "new")
        #expect(try await cache.value(forKey: 1) { "new" } == "new")
        await yieldUntil { cache.core.link.withMachine { $0.flightCount } == 0 }
    }
}

@Suite("What flights of the near machine hear when they are out of its table")
struct RevokedFlightMachineTests {
    typealias Machine = NearMachine<Int>

    /// Two flights of one key: one that a lost connection has revoked, and one that is filed.
    private func machine() -> Machine {
        var near = Machine()
        _ = near.connected(now: 0, aliveFor: .max)
        _ = near.joined(near.joinAttempt, prefix: "e")
        _ = near.file(1, forKey: "k")
        _ = near.begin(1, forKey: "k")
        _ = near.lost(now: 0)
        _ = near.connected(now: 0, aliveFor: .max)
        _ = near.joined(near.joinAttempt, prefix: "e")
        _ = near.file(2, forKey: "k")
        _ = near.begin(2, forKey: "k")
        return near
    }

    @Test("A lost connection is no change, and a change is told to all flights of the key once")
    func changed() {
        var near = machine()
        let before = near.flightCount
        let another = near.changed("other")
        let first = near.changed("k")
        let second = near.changed("k")
        #expect(before == 2 && another.changed.isEmpty)
        #expect(first.revoked == [2] && first.changed.sorted() == [1, 2])
        #expect(second.revoked.isEmpty && second.changed.isEmpty && near.flightCount == 0)
    }

    @Test("A flush, and another epoch, are changes of all keys")
    func allChanged() {
        var flushed = machine()
        let all = flushed.flushed().changed.sorted()
        var cleared = machine()
        _ = cleared.epochReported()
        let other = cleared.joined(cleared.joinAttempt, prefix: "f")?.changed.sorted()
        #expect(all == [1, 2] && other == [1, 2] && flushed.flightCount == 0 && cleared.flightCount == 0)
    }

    @Test("Flights that have landed, or are filed anew, are remembered no longer")
    func forgotten() {
        var near = machine()
        near.landed(2, forKey: "k")
        let isFiledAnew = near.beginLoad(1, forKey: "k")
        #expect(isFiledAnew && near.flightCount == 1 && near.flight(of: "k") == 1)
        near.landed(1, forKey: "k")
        var other = machine()
        other.landed(1, forKey: "k")
        let rest = [near.changed("k").changed, other.changed("k").changed]
        #expect(rest == [[], [2]] && near.flightCount == 0 && other.flightCount == 0)
    }
}
