//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// A trivial value of a cache line that tells which key it belongs to, in each of its words.
struct Tagged: Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    init(_ key: Int) {
        let word = UInt64(truncatingIfNeeded: key) &* 0x9E37_79B9_7F4A_7C15
        words = (word, word, word, word, word, word, word, word)
    }

    func belongs(to key: Int) -> Bool {
        let word = UInt64(truncatingIfNeeded: key) &* 0x9E37_79B9_7F4A_7C15
        return withUnsafeBytes(of: words) { $0.bindMemory(to: UInt64.self).allSatisfy { $0 == word } }
    }
}

@Suite("Lookups without a lock, beside insertions", .serialized, .enabled(if: CacheEngine<Int, Int>.admitsReaders))
struct OptimisticInsertionTests {
    typealias Engine = CacheEngine<Int, Tagged>

    static func hash(_ key: Int, in engine: Engine) -> UInt64 { KeyHash.hash(key, seed: engine.seed) }

    /// The sequence of the shard that `key` is in.
    private static func sequence(of key: Int, in engine: Engine) -> UInt32 {
        let word = engine.directory.load(ordering: .acquiring)
        let shard = Engine.shard(Engine.shardIndex(hash(key, in: engine), of: word), of: word)
        return ShardLock(guarding: shard).sequence.pointee.load(ordering: .acquiring)
    }

    /// What is known of `key` without the lock.
    enum Knowledge: Equatable { case present, absent, nothing }

    static func look(_ key: Int, in engine: Engine) -> Knowledge {
        switch engine.valueWithoutLock(key, hash(key, in: engine)) {
        case .none: return .nothing
        case .some(.none): return .absent
        case .some(.some(let value)):
            #expect(value.belongs(to: key))
            return .present
        }
    }

    /// Each step of an insertion, and what is known after it: the entry that goes is used, as one is where all are.
    @Test(arguments: 0..<100)
    func stepByStep(_ victim: Int) {
        let engine = Engine.filled(100, Tagged.init)
        let hash = Self.hash(100, in: engine)
        func expect(_ others: Knowledge, _ victims: Knowledge, _ newcomers: Knowledge, _ absent: Knowledge) {
            for key in 0..<100 { #expect(Self.look(key, in: engine) == (key == victim ? victims : others)) }
            #expect(Self.look(100, in: engine) == newcomers)
            #expect(Self.look(101, in: engine) == absent)
        }
        expect(.present, .present, .absent, .absent)
        let (shard, none) = engine.locate(100, hash, toSet: true)
        #expect(none == 0)
        expect(.present, .present, .nothing, .nothing)
        let slot = shard.pointee.storage.find(victim, Self.hash(victim, in: engine))!
        _ = shard.pointee.evict(slot, residents: 100, cause: .countLimit)
        expect(.present, .nothing, .nothing, .nothing)
        // The word of the newcomer leads to the entry that went, until the newcomer is written over it.
        let taken = shard.pointee.storage.takeSlot(hash: hash, keepsTable: true)
        #expect(taken == slot)
        expect(.present, .nothing, .nothing, .nothing)
        var entry = Entry(meta: EntryMeta(info: EntryInfo(bits: 0)), key: 100, value: Tagged(100))
        entry.meta.info.level = 1
        shard.pointee.storage.entries[Int(slot)] = entry
        shard.pointee.enqueue(slot)
        expect(.present, .nothing, .nothing, .nothing)
        engine.unlock(shard)
        expect(.present, .absent, .nothing, .absent)
        #expect(engine.value(forKey: 100)?.belongs(to: 100) == true)
        expect(.present, .absent, .present, .absent)
    }

    /// A slab that was in use before may have anything in slots that were not taken since.
    @Test func slotsThatWereUsedBefore() {
        let engine = Engine.filled(40, Tagged.init)
        let (shard, _) = engine.locate(40, Self.hash(40, in: engine), toSet: true)
        let next = shard.pointee.storage.highWater
        let isFresh = shard.pointee.storage.firstVacant == 0 && Int(next) < shard.pointee.storage.capacity
        #expect(isFresh)
        var left = Entry(meta: EntryMeta(info: EntryInfo(bits: EntryInfo.touched)), key: 40, value: Tagged(41))
        left.meta.info.level = 1
        shard.pointee.storage.entries[Int(next)] = left
        let taken = shard.pointee.storage.takeSlot(hash: Self.hash(40, in: engine), keepsTable: true)
        #expect(taken == next)
        #expect(Self.look(40, in: engine) == .nothing)
        // An entry must be there to be taken out, or the engine would end with one that is in no queue.
        shard.pointee.storage.entries[Int(next)] = left
        _ = shard.pointee.storage.take(next, hash: Self.hash(40, in: engine))
        engine.unlock(shard)
    }

    /// A lookup tells addresses of one section apart by nothing, so none may change in it: not for want of a place, and
    /// not because keys crowd.
    @Test(arguments: [false, true])
    func tableAndSlabStayInSuchASection(_ crowds: Bool) {
        let seed = UInt64.random(in: 1 ... .max)
        var random = SplitMix64(seed: seed)
        let engine = Engine.filled(1, Tagged.init)
        var (open, closed) = (0, 0)
        for number in 1..<stressed(crowds ? 4000 : 60_000) {
            let key = crowds ? Self.keyInACrowd(of: engine, &random) : number
            let hash = Self.hash(key, in: engine)
            let (shard, slot) = engine.locate(key, hash, toSet: true)
            if slot != 0 {
                engine.unlock(shard)
                continue
            }
            let before = shard.pointee.storage
            if before.count > 100, Int.random(in: 0..<2, using: &random) == 0 {
                let victim = shard.pointee.selectVictim(for: .countLimit)
                _ = shard.pointee.evict(victim, residents: 100, cause: .countLimit)
            }
            var newcomer = engine.prepare(Tagged(key), hash, cost: 0, recomputeCost: nil, lifetime: nil)
            shard.pointee.admit(hash, &newcomer.info, residents: 100)
            var departures = EntryDepartures<Int, Tagged>()
            engine.store(Tagged(key), forKey: key, &newcomer, shard, 0, isInOrder: false, into: &departures)
            let isOpen = ShardLock(guarding: shard).isInserting
            let after = shard.pointee.storage
            if isOpen { open += 1 } else { closed += 1 }
            if isOpen,
                before.table != after.table || before.entries != after.entries || before.oldTable != after.oldTable
                    || before.layout.size != after.layout.size || before.layout.isSpread != after.layout.isSpread
            {
                Issue.record("insertion \(number), seed \(seed)")
            }
            engine.unlock(shard)
        }
        #expect(open > closed && closed > 0, "\(open) and \(closed) sections, seed \(seed)")
        var isSpread = false
        engine.forEachShard { if $0.pointee.storage.layout.isSpread { isSpread = true } }
        if crowds { #expect(isSpread, "seed \(seed)") }
        engine._checkInvariants()
    }

    /// A key whose home is in a 64th of the table of the first shard, until hashes are spread.
    private static func keyInACrowd(of engine: Engine, _ random: inout SplitMix64) -> Int {
        let layout = Engine.shard(0, of: engine.directory.load(ordering: .acquiring)).pointee.storage.layout
        while true {
            let key = Int(truncatingIfNeeded: random.next())
            if layout.isSpread || layout.home(hash(key, in: engine)) <= UInt(layout.size / 64) { return key }
        }
    }

    /// Two threads read keys below `keys` until `body` has what it wants; how many values were not their key's, and how
    /// many were read in one section of an insertion.
    ///
    /// - Parameter neverLocks: whether keys of which nothing is known without the lock are left alone.
    private static func countStrange(
        _ engine: Engine,
        _ keys: Int,
        neverLocks: Bool = false,
        _ body: (_ seen: () -> (strange: Int, during: Int)) -> Void
    ) -> (strange: Int, during: Int) {
        let isOver = Atomic<Bool>(false)
        let strange = Atomic<Int>(0)
        let during = Atomic<Int>(0)
        let readers = (0..<2).map { reader in
            StressThread {
                var random = SplitMix64(seed: UInt64(reader))
                while !isOver.load(ordering: .relaxed) {
                    let key = Int.random(in: 0..<keys, using: &random)
                    let before = sequence(of: key, in: engine)
                    guard let value = engine.valueWithoutLock(key, hash(key, in: engine)) ?? nil else {
                        if !neverLocks { _ = engine.value(forKey: key) }
                        continue
                    }
                    if !value.belongs(to: key) { strange.add(1, ordering: .relaxed) }
                    let isInserting = before & (ShardLock.writes | ShardLock.inserts) == ShardLock.inserts
                    if isInserting, sequence(of: key, in: engine) == before { during.add(1, ordering: .relaxed) }
                }
            }
        }
        body { (strange.load(ordering: .relaxed), during.load(ordering: .relaxed)) }
        isOver.store(true, ordering: .relaxed)
        for reader in readers { reader.join() }
        return (strange.load(ordering: .relaxed), during.load(ordering: .relaxed))
    }

    @Test("no value is seen in parts or under another key")
    func strangeValues() {
        let engine = Engine.filled(16, limit: 16, Tagged.init)
        let limit = Minute()
        let (strange, _) = Self.countStrange(engine, 32) { seen in
            var key = 0
            while !limit.isOver, seen().strange == 0, seen().during < stressed(5000) {
                key = (key + 1) % 32
                engine.setValue(Tagged(key), forKey: key)
            }
        }
        #expect(strange == 0)
        engine._checkInvariants()
    }

    /// The control of the other tests: a writer that leaves an entry used while it writes another over it.
    @Test func aWriterThatLeavesAnEntryUsedIsCaught() {
        let engine = Engine.filled(16, limit: 16, Tagged.init)
        let key = 16
        let (strange, _) = Self.countStrange(engine, 32, neverLocks: true) { seen in
            let hash = Self.hash(key, in: engine)
            let (shard, none) = engine.locate(key, hash, toSet: true)
            #expect(none == 0)
            var storage = shard.pointee.storage
            let victim = shard.pointee.order.least(for: .countLimit)
            storage.unlink(victim, hash: storage.hash(of: victim))
            storage.view[victim].pointee.info.bits |= EntryInfo.touched
            storage.entries[Int(victim)].key = key
            let place = storage.emptyPlace(for: hash)
            storage.table[Int(place.index)] = place.tag | victim
            while seen().strange == 0 { Thread.sleep(forTimeInterval: 0.001) }
            storage.entries[Int(victim)].value = Tagged(key)
            shard.pointee.moveToEnd(victim)
            engine.unlock(shard)
        }
        #expect(strange > 0)
        engine._checkInvariants()
    }

    @Test(
        "caches at their limits, of one shard and of many, give each key its own value",
        arguments: [8, 60, 3000, 40_000]
    )
    func fullCaches(_ limit: Int) {
        let engine = Engine(countLimit: limit)
        for key in 0..<limit { engine.setValue(Tagged(key), forKey: key) }
        engine.admitReader()
        let keys = limit + limit / 4 + 1
        let wanted = stressed(2000)
        let end = Minute()
        let seed = UInt64.random(in: 1 ... .max)
        let (strange, _) = Self.countStrange(engine, keys) { seen in
            var random = SplitMix64(seed: seed)
            while !end.isOver, seen().during < wanted {
                for _ in 0..<1000 {
                    let key = Int.random(in: 0..<keys, using: &random)
                    if let value = engine.value(forKey: key) {
                        #expect(value.belongs(to: key), "seed \(seed)")
                    } else {
                        engine.setValue(Tagged(key), forKey: key)
                    }
                }
            }
        }
        #expect(strange == 0, "seed \(seed)")
        #expect(engine.statistics.count <= limit)
        engine._checkInvariants()
    }
}

/// A minute from now: for machines that have no time for what takes milliseconds elsewhere.
private struct Minute {
    private let end = ContinuousClock.now + .seconds(60)
    var isOver: Bool { ContinuousClock.now > end }
}
