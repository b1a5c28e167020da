//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Synchronization
import Testing

@testable import MemoryCaching

/// A value that says whether it still lives.
private final class Living {
    nonisolated(unsafe) static var count = 0
    init() { Self.count += 1 }
    deinit { Self.count -= 1 }
}

/// How one shard becomes several, and those more: see `CacheEngine+Splitting`.
@Suite("Splits of the engine", .serialized)
struct EngineSplitTests {
    private static let most = CacheEngine<Int, Int>.mostShardCount

    /// Inserts keys from 0 on until there are more shards than `count`; returns how many keys that took.
    private func fill<Value>(
        _ engine: CacheEngine<Int, Value>,
        beyond count: Int,
        from first: Int = 0,
        _ value: (Int) -> Value
    ) -> Int {
        var key = first
        while engine.shardCount <= count {
            engine.setValue(value(key), forKey: key, cost: key % 7)
            key += 1
            precondition(key < 1_000_000, "a split that does not come")
        }
        return key
    }

    @Test("shards become more twice, and nothing else changes")
    func twice() {
        let clock = ManualClock()
        let engine = CacheEngine<Int, Int>(clock: clock)
        var counts: [Int] = []
        for key in 0..<80_000 {
            let lifetime: Duration? = key % 3 == 0 ? .seconds(key % 5 + 1) : nil
            engine.setValue(key, forKey: key, cost: key % 7, expiresAfter: lifetime)
            if counts.last != engine.shardCount {
                counts.append(engine.shardCount)
                #expect(engine.statistics.insertions == key + 1)
                #expect(engine.value(forKey: key / 2) == key / 2)
            }
        }
        // With one processor, and with 9 to 16, the first split is the last.
        #expect(counts.count >= 2 && counts.first == 1 && counts.last == Self.most)
        #expect(counts[1] >= 16 && counts[1] <= 64)
        #expect((0..<80_000).allSatisfy { engine.value(forKey: $0) == $0 })
        #expect(engine.totalCost == (0..<80_000).reduce(0) { $0 + $1 % 7 })
        #expect(engine.statistics.hits == 80_000 + counts.count && engine.statistics.misses == 0)
        engine._checkInvariants()
        clock.advance(by: .seconds(3))
        // Of each fifteen, five have a lifetime, and those of 1, 2 and 3 seconds are over.
        #expect(engine.count == 80_000 - (0..<80_000).count { $0 % 3 == 0 && $0 % 5 < 3 })
        engine._checkInvariants()
    }

    @Test("keys that are compared outside the locks are found after both splits")
    func foreignKeys() {
        struct Key: Hashable { var name: String }
        let engine = CacheEngine<Key, Int>()
        for key in 0..<70_000 { engine.setValue(key, forKey: Key(name: "\(key)")) }
        #expect(engine.shardCount == Self.most)
        for key in 0..<70_000 where engine.value(forKey: Key(name: "\(key)")) != key { Issue.record("\(key) is lost") }
        engine._checkInvariants()
    }

    @Test("what has not moved yet is evicted like the rest, in order of use", arguments: [1, most / 2])
    func evictionBetween(shards: Int) {
        let engine = CacheEngine<Int, Int>(ordering: .reuse)
        let count = fill(engine, beyond: shards) { $0 }
        // Nobody has looked at the new shards.
        var victims: [Int] = []
        engine.removalObserver = { key, _, _ in victims.append(key) }
        for _ in 0..<50 {
            var departures = EntryDepartures<Int, Int>()
            guard case .evicted(let cost) = engine.evictOne(cause: .memoryPressure, into: &departures) else {
                Issue.record("nothing to evict")
                return
            }
            engine.room?.pointee.giveBack(places: 1, cost: cost)
            engine.finish(departures)
        }
        #expect(victims.count == 50)
        #expect(victims.allSatisfy { $0 < count / 10 }, "\(victims)")
        engine._checkInvariants()
    }

    @Test("a cache that ends between two directories lets go of everything", arguments: [1, most / 2], [false, true])
    func end(shards: Int, looks: Bool) {
        do {
            let engine = CacheEngine<Int, Living>()
            let count = fill(engine, beyond: shards) { _ in Living() }
            #expect(Living.count == count)
            // One shard has given its entries away, the others have not.
            if looks { _ = engine.value(forKey: 0) }
            withExtendedLifetime(engine) {}
        }
        #expect(Living.count == 0)
    }

    @Test("a sweep that a split overtakes passes over nothing")
    func sweep() {
        let engine = CacheEngine<Int, Int>()
        let first = fill(engine, beyond: 1) { $0 }
        var place = EngineSweep()
        for _ in 0..<200 where !engine.removeSome(from: &place, where: { $0 % 2 == 0 }) {}
        let last = fill(engine, beyond: Self.most / 2, from: first) { $0 }
        while !engine.removeSome(from: &place, where: { $0 % 2 == 0 }) {}
        #expect(engine.count == last / 2)
        #expect((0..<last).allSatisfy { (engine.value(forKey: $0) == nil) == ($0 % 2 == 0) })
        engine._checkInvariants()
    }

    @Test("what a thread of the parent was about to split, the child splits")
    func inheritedSplit() {
        let engine = CacheEngine<Int, Int>()
        // As a child of a fork finds it when its parent was in the middle of a split.
        engine.splittingProcess.store(.max, ordering: .relaxed)
        var word = engine.directory.load(ordering: .acquiring)
        var count = 0
        while engine.shardCount <= Self.most / 2, count < 1_000_000 {
            word = engine.directory.load(ordering: .acquiring)
            engine.setValue(count, forKey: count)
            count += 1
        }
        // The last split came with the first entry that was too many for its shard.
        var entries: [Int: UInt32] = [:]
        for key in 0..<count {
            let hash = KeyHash.hash(key, seed: engine.seed)
            entries[CacheEngine<Int, Int>.shardIndex(hash, of: word), default: 0] += 1
        }
        #expect(entries.values.max() == ShardCounts.mostEntries(Int(word & 63)) + 1)
        #expect(engine.splittingProcess.load(ordering: .relaxed) == 0)
        engine._checkInvariants()
    }

    @Test("stocks are not lost between two directories")
    func stocks() {
        let engine = CacheEngine<Int, Int>(totalCostLimit: 1_000_000)
        _ = fill(engine, beyond: Self.most / 2) { $0 }
        engine.trim(toCost: 0)
        #expect(engine.totalCost == 0)
        // What is left costs nothing, and all the room can be had by one.
        #expect(engine.setValue(1, forKey: -1, cost: 1_000_000))
        engine._checkInvariants()
    }

    @Test("what was evicted before a split is remembered by few heirs, not by many", arguments: [1, most / 2])
    func ghosts(shards: Int) {
        let probe = CacheEngine<Int, Int>()
        let splits = fill(probe, beyond: shards) { $0 }
        // Seven eighths of what is divided, so that all that comes then evicts; and then more of them, which are small.
        let engine = CacheEngine<Int, Int>(totalCostLimit: splits / 8 * 7 * 10)
        for key in 0..<splits * 2 { engine.setValue(key, forKey: key, cost: 10) }
        let before = engine.shardCount
        var key = splits * 2
        while engine.shardCount == before {
            engine.setValue(key, forKey: key, cost: 1)
            key += 1
        }
        #expect(engine.shardCount > shards)
        let evicted = Set((0..<splits * 2).filter { engine.value(forKey: $0) == nil }.suffix(100))
        for key in evicted { engine.setValue(key, forKey: key, cost: 1) }
        var returned = 0
        engine.forEachShard { shard in
            shard.pointee.storage.forEachSlot { slot in
                let info = shard.pointee.storage.view[slot].pointee.info
                if evicted.contains(shard.pointee.storage.entries[Int(slot)].key), !info.has(EntryInfo.firstStay) {
                    returned += 1
                }
            }
        }
        // Of what went within one turnover none is younger than the other, so a share of it is remembered; with many
        // heirs none is, but for a fingerprint that happens to be another's.
        let heirs = engine.shardCount / before
        #expect(heirs > 4 ? returned <= 2 : returned >= 70 / heirs, "\(returned) of \(evicted.count), \(heirs) heirs")
        engine._checkInvariants()
    }
}
