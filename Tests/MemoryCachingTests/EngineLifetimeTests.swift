//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Engine: lifetimes")
struct EngineLifetimeTests {
    @Test("an entry goes when its lifetime is over, not before, and counts no longer")
    func expiry() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock)
        var left: [RemovalCause] = []
        engine.removalObserver = { _, _, cause in left.append(cause) }
        engine.setValue(1, forKey: 1, cost: 5, expiresAfter: .seconds(1))
        engine.setValue(2, forKey: 2, cost: 5)
        clock.advance(by: .nanoseconds(999_999_999))
        #expect(engine.value(forKey: 1) == 1 && engine.contains(1) && engine.count == 2)
        clock.advance(by: .nanoseconds(1))
        #expect(!engine.contains(1))
        #expect(engine.count == 1 && engine.totalCost == 5)
        #expect(engine.value(forKey: 1) == nil)
        #expect(left == [.expired])
        #expect(engine.statistics.removals(.expired) == 1)
        engine._checkInvariants()
    }

    @Test("a lookup finds an entry expired even before any sweep")
    func lazily() {
        let clock = ManualClock()
        let engine = CacheEngine<String, Int>(clock: clock)
        engine.setValue(1, forKey: "a", expiresAfter: .milliseconds(10))
        clock.advance(by: .milliseconds(10))
        #expect(engine.value(forKey: "a") == nil)
        #expect(engine.statistics.misses == 1 && engine.statistics.hits == 0)
        engine.setValue(1, forKey: "a", expiresAfter: .milliseconds(10))
        clock.advance(by: .seconds(1))
        #expect(engine.removeValue(forKey: "a") == nil)
    }

    @Test("a sweep of many goes round the shards, a few entries of each at a time")
    func sweepsTakeTurns() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock)
        for key in 0..<20_000 { engine.setValue(key, forKey: key, expiresAfter: .seconds(1)) }
        let mask = UInt64(engine.shardCount - 1)
        #expect(mask > 0)
        var shards: [UInt64] = []
        engine.removalObserver = { key, _, _ in shards.append(KeyHash.hash(key, seed: engine.seed) >> 57 & mask) }
        clock.advance(by: .seconds(1))
        #expect(engine.count == 0)
        #expect(shards.count == 20_000)
        #expect(takeTurns(shards))
    }

    @Test("a handler that asks for the count during a sweep is called no more than two levels deep")
    func countInHandler() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock)
        for key in 0..<20_000 { engine.setValue(key, forKey: key, expiresAfter: .seconds(1)) }
        var (depth, deepest, told) = (0, 0, 0)
        engine.removalObserver = { [unowned engine] _, _, _ in
            depth += 1
            told += 1
            deepest = max(deepest, depth)
            // Deeper than that the stack would not last.
            if depth < 50 { #expect(engine.count < 20_000) }
            depth -= 1
        }
        clock.advance(by: .seconds(1))
        #expect(engine.count == 0)
        #expect(told == 20_000)
        #expect(deepest <= 2)
    }

    @Test("a handler that puts back entries which expire at once does not keep a sweep going")
    func putBackDuringSweep() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock)
        for key in 0..<1_000 { engine.setValue(key, forKey: key, expiresAfter: .seconds(1)) }
        var told: [Int] = []
        engine.removalObserver = { [unowned engine] key, value, _ in
            told.append(value)
            if told.count < 10_000 { engine.setValue(1_000 + value, forKey: key, expiresAfter: .zero) }
        }
        clock.advance(by: .seconds(1))
        engine.removeExpired()
        #expect(told.count(where: { $0 < 1_000 }) == 1_000)
        #expect(told.count <= 1_000 + SweptPiece.mostEntries)
    }

    @Test("shards that are swept take turns, each for as many entries as it had, newcomers among them")
    func turns() {
        // Shard 2 appears during the sweep, shard 1 is filled as fast as it is swept.
        var held = [3, 5]
        var turns: [Int] = []
        sweepByTurns { shard, isFirst in
            guard shard < held.count else { return nil }
            #expect(isFirst == !turns.contains(shard))
            turns.append(shard)
            let before = held[shard]
            if shard != 1 { held[shard] -= min(2, before) }
            if turns.count == 4 { held.append(1) }
            return SweptPiece(held: before, removed: min(2, before), isDone: held[shard] == 0)
        }
        #expect(turns == [0, 1, 0, 1, 2, 1])
        #expect(held == [0, 5, 0])
    }

    @Test("replacing renews a lifetime or ends it; zero, negative and endless ones are lifetimes too")
    func renewal() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock)
        engine.setValue(1, forKey: 1, expiresAfter: .seconds(1))
        engine.setValue(2, forKey: 1, expiresAfter: .seconds(5))
        engine.setValue(3, forKey: 2, expiresAfter: .seconds(1))
        engine.setValue(4, forKey: 2)
        clock.advance(by: .seconds(2))
        #expect(engine.value(forKey: 1) == 2 && engine.value(forKey: 2) == 4)
        engine.setValue(5, forKey: 3, expiresAfter: .zero)
        engine.setValue(6, forKey: 4, expiresAfter: .seconds(-1))
        engine.setValue(7, forKey: 5, expiresAfter: .seconds(Int64.max))
        #expect(engine.value(forKey: 3) == nil && engine.value(forKey: 4) == nil && engine.value(forKey: 5) == 7)
        engine._checkInvariants()
    }

    @Test("a lifetime below 0 counts as 0, also where what has expired is kept", arguments: [0, 1000])
    func negativeLifetimes(age: Int) {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock, fallbackLifetime: .seconds(60))
        clock.advance(by: .seconds(age))
        engine.setValue(1, forKey: 1, expiresAfter: .seconds(-30))
        engine.setValue(2, forKey: 2, expiresAfter: .seconds(0))
        #expect(engine.value(forKey: 1) == nil && engine.value(forKey: 2) == nil)
        clock.advance(by: .seconds(59))
        #expect(engine.count == 2)
        clock.advance(by: .seconds(1))
        #expect(engine.count == 0)
        engine._checkInvariants()
    }

    @Test("the dead make room before the living are evicted")
    func expiredFirst() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(countLimit: 3, clock: clock)
        engine.setValue(1, forKey: 1)
        engine.setValue(2, forKey: 2, expiresAfter: .seconds(1))
        engine.setValue(3, forKey: 3)
        clock.advance(by: .seconds(1))
        engine.setValue(4, forKey: 4)
        #expect(engine.contains(1) && engine.contains(3) && engine.contains(4))
        #expect(engine.statistics.removals(.countLimit) == 0)
    }

    @Test("a wheel that follows another does not move what it gets down all wheels again")
    func followingWheel() {
        let now: Int64 = 1 << 50
        func steps(in wheel: TimerWheel) -> Int {
            let deadline = EntryDeadline(next: now + 5 << 30, last: .max)
            for slot in UInt32(1)..<20 { wheel.schedule(slot, deadline: deadline) }
            var steps = 1000
            #expect(wheel.firstDue(at: now, steps: &steps) == 0)
            return 1000 - steps
        }
        let old = TimerWheel()
        #expect(steps(in: old) >= 19)
        let heir = old.following(slots: 8)
        #expect(steps(in: heir) == 0)
        #expect(heir.deadline(of: 3) == now + 5 << 30)
    }

    @Test("the wheel finds what is due, no more and no less, over all its levels")
    func wheel() {
        let seed = UInt64.random(in: 1 ... .max)
        var random = SplitMix64(seed: seed)
        let wheel = TimerWheel()
        var deadlines: [UInt32: Int64] = [:]
        var now: Int64 = 0
        for _ in 0..<5_000 {
            let slot = UInt32.random(in: 1...300, using: &random)
            if deadlines[slot] != nil, Bool.random(using: &random) {
                wheel.cancel(slot)
                deadlines[slot] = nil
            } else if deadlines[slot] == nil {
                let scale = Int64(1) << Int64.random(in: 10...50, using: &random)
                let deadline = now + Int64.random(in: -scale / 8...scale, using: &random)
                wheel.schedule(slot, deadline: EntryDeadline(next: deadline, last: deadline))
                deadlines[slot] = deadline
                #expect(wheel.deadline(of: slot) == deadline)
            }
            now += Int64.random(in: 0...(Int64(1) << Int64.random(in: 5...45, using: &random)), using: &random)
            // In pieces of a few steps, as a cache asks.
            var steps = 3
            while true {
                let due = wheel.firstDue(at: now, steps: &steps)
                if due == 0, steps > 0 { break }
                steps = 3
                if due == 0 { continue }
                guard let deadline = deadlines.removeValue(forKey: due), deadline <= now else {
                    Issue.record("\(due) is not due (seed \(seed))")
                    return
                }
                wheel.cancel(due)
            }
            #expect(!deadlines.values.contains { $0 <= now }, "seed \(seed)")
        }
    }
}

/// Whether the shards that entries came out of, in this order, took turns: nobody waits for a shard longer than for one
/// piece of work, as long as others have something left.
func takeTurns<Shard: Hashable>(_ shards: [Shard]) -> Bool {
    var (run, longest) = (1, 1)
    for (one, next) in zip(shards, shards.dropFirst()) {
        run = one == next ? run + 1 : 1
        longest = max(longest, run)
    }
    let leastOfAShard = Dictionary(grouping: shards) { $0 }.values.map(\.count).min() ?? 0
    return longest < leastOfAShard / 2
}
