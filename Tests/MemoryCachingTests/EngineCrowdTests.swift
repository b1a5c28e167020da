//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Integers whose hashes lie side by side, because the secret factor is a bad one for them.
@Suite("Engine: keys that crowd in a table")
struct EngineCrowdTests {
    typealias Storage = EntryStorage<Int, Int>

    /// Keys in a row pass 400 words on average in a table of 8,192.
    static let crowding = HashSeed(word: 0x8EEC_0C7C_DEEF_BFFF)
    /// Keys in a row have homes in a row, so that none passes a word and all stand in one run.
    static let dense = HashSeed(word: 0x0000_0001_8000_0001)

    private static func entry(_ key: Int) -> Entry<Int, Int> {
        Entry(meta: EntryMeta(info: EntryInfo(bits: 0)), key: key, value: key)
    }

    /// Words that a lookup of `key` reads in the table that it is in, which may be the old one.
    private static func wordsRead(_ key: Int, in storage: inout Storage) -> Int {
        let hash = KeyHash.hash(key, seed: storage.seed)
        guard let slot = storage.find(key, hash) else { return .max }
        for (table, layout) in [(storage.table, storage.layout), (storage.oldTable, storage.oldLayout)] {
            guard let table else { continue }
            var index = layout.home(Storage.placed(hash, by: layout))
            var words = 1
            while table[Int(index)] != 0 {
                if table[Int(index)] & Storage.slotMask == slot { return words }
                index = layout.next(index)
                words += 1
            }
        }
        return .max
    }

    private static func meanWordsRead(_ keys: [Int], in storage: inout Storage) -> Double {
        var words = 0
        for key in keys { words += wordsRead(key, in: &storage) }
        return Double(words) / Double(keys.count)
    }

    /// Most words without a gap in the present table.
    private static func longestRun(of storage: Storage) -> Int {
        var (longest, run) = (0, 0)
        for place in 0..<2 * storage.layout.size {
            run = storage.table[place & (storage.layout.size - 1)] == 0 ? 0 : run + 1
            longest = max(longest, run)
        }
        return longest
    }

    /// Without spreading, 3,000 of these keys read 400 words each.
    @Test func insertionsSpreadACrowd() {
        var storage = Storage(seed: Self.crowding, keepsIdentities: false)
        defer { storage.deallocate() }
        for key in 0..<3000 { _ = storage.insert(Self.entry(key), hash: KeyHash.hash(key, seed: storage.seed)) }
        #expect(storage.layout.isSpread)
        #expect(Self.meanWordsRead(Array(0..<3000), in: &storage) < 2)
    }

    /// No insertion passes a word, and the first removal looks at all behind it; not so the second.
    @Test(arguments: [3000, 100_000])
    func removalsSpreadARun(count: Int) {
        var storage = Storage(seed: Self.dense, keepsIdentities: false)
        defer { storage.deallocate() }
        func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: Self.dense) }
        for key in 0..<count { _ = storage.insert(Self.entry(key), hash: hash(key)) }
        #expect(!storage.layout.isSpread && Self.longestRun(of: storage) > count / 2)
        #expect(Self.meanWordsRead(Array(0..<count), in: &storage) < 1.1)
        // What is in no long run is found sooner or later.
        var removed = 0
        while !storage.layout.isSpread, removed < count {
            _ = storage.remove(storage.find(removed, hash(removed))!, hash: hash(removed))
            removed += 1
        }
        #expect(storage.layout.isSpread && removed < 100)
        #expect((storage.oldTable != nil) == (2 * count > Storage.mostRebuilt))
        // As many again as are needed to move all words.
        var last = count
        while storage.oldTable != nil, last < 2 * count {
            _ = storage.insert(Self.entry(last), hash: hash(last))
            last += 1
        }
        #expect(last - count < count / 8)
        #expect(Self.longestRun(of: storage) < 200)
        #expect(Self.meanWordsRead(Array(removed..<last), in: &storage) < 2)
    }

    /// While words move from a run of any length, a removal looks at none of those behind it, and moves some itself:
    /// looking at all, 3,000 removals of a million keys took 3 s.
    @Test func removalsAloneEndARun() {
        var storage = Storage(seed: Self.dense, keepsIdentities: false)
        defer { storage.deallocate() }
        func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: Self.dense) }
        let count = 100_000
        for key in 0..<count { _ = storage.insert(Self.entry(key), hash: hash(key)) }
        storage.spread()
        #expect(storage.oldTable != nil && storage.layout.isSpread)
        // From the middle on: half of the run stands behind each.
        let first = count / 2
        var removed = 0
        while storage.oldTable != nil, removed < first {
            let key = first + removed
            #expect(storage.remove(storage.find(key, hash(key))!, hash: hash(key)).key == key)
            removed += 1
        }
        #expect(removed < count / 8)
        // What removals have looked at counts as a crowd.
        #expect(storage.crowding < 1000)
        let gone = first..<first + removed
        for key in 0..<count where (storage.find(key, hash(key)) == nil) != gone.contains(key) {
            Issue.record("\(key) is lost or stays")
        }
        #expect(Self.meanWordsRead(Array(0..<first), in: &storage) < 2)
    }

    /// While lookups rely on the table, a crowd is noted and nothing is spread; whoever may change the table does it.
    @Test func nothingIsSpreadWhileTheTableIsKept() {
        var storage = Storage(seed: Self.dense, keepsIdentities: false)
        defer { storage.deallocate() }
        func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: Self.dense) }
        for key in 0..<3000 { _ = storage.insert(Self.entry(key), hash: hash(key)) }
        let table = storage.table
        for key in 0..<10 { _ = storage.remove(storage.find(key, hash(key))!, hash: hash(key), keepsTable: true) }
        for key in 0..<10 { _ = storage.insert(Self.entry(key), hash: hash(key), keepsTable: true) }
        #expect(storage.table == table && !storage.layout.isSpread)
        #expect(!storage.hasPlace(sparing: false), "for want of a table without crowds")
        _ = storage.remove(storage.find(0, hash(0))!, hash: hash(0))
        #expect(storage.table != table && storage.layout.isSpread && storage.hasPlace(sparing: false))
        for key in 1..<3000 { #expect(storage.find(key, hash(key)) != nil) }
    }

    /// Random keys lie in crowds by chance now and then. With a limit of 24 words and no credit, nearly all such tables
    /// spread their hashes.
    @Test func randomKeysSeldomSpread() {
        let number = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: number)
        var spreads = 0
        for _ in 0..<20 {
            var storage = Storage(seed: HashSeed(word: random.next()), keepsIdentities: false)
            defer { storage.deallocate() }
            func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: storage.seed) }
            var keys: [Int] = []
            for step in 0..<60_000 {
                let key = Int(truncatingIfNeeded: random.next())
                if step < 4000 {
                    keys.append(key)
                } else {
                    let gone = keys[step % 4000]
                    _ = storage.remove(storage.find(gone, hash(gone))!, hash: hash(gone))
                    keys[step % 4000] = key
                }
                _ = storage.insert(Self.entry(key), hash: hash(key))
            }
            if storage.layout.isSpread { spreads += 1 }
        }
        #expect(spreads <= 8, "seed \(number)")
    }

    /// What crowds cost is made up for by insertions, a word each, and no more than a table has credit for at once.
    @Test func insertionsMakeUpForCrowds() {
        var storage = Storage(seed: Self.crowding, keepsIdentities: false)
        defer { storage.deallocate() }
        let credit = Storage.mostCrowding
        for _ in 0..<3 {
            let (first, rest) = (!storage.noteCrowd(credit), storage.noteCrowd(1))
            #expect(first && rest)
            storage.generation &+= UInt32(credit) + 1
        }
        // Half of it has been made up for.
        var isSpread = storage.noteCrowd(credit)
        #expect(!isSpread)
        storage.generation &+= UInt32(credit / 2)
        isSpread = storage.noteCrowd(credit / 2)
        #expect(!isSpread)
        isSpread = storage.noteCrowd(1)
        #expect(isSpread)
        // A run of any length is counted, and none overflows.
        isSpread = storage.noteCrowd(.max / 2)
        #expect(isSpread)
    }

    /// Of 72,000 caches the worst one read 7.7 words.
    @Test func keysAtAnyDistanceAreFoundSoon() {
        let distances =
            [1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96, 100, 128, 256, 1000, 1024, 4096, 1_000_003]
            + [1 << 20, 1 << 32]
        for _ in 0..<10 {
            let seed = HashSeed.random()
            for distance in distances {
                var storage = Storage(seed: seed, keepsIdentities: false)
                let keys = (0..<3000).map { $0 &* distance }
                for key in keys { _ = storage.insert(Self.entry(key), hash: KeyHash.hash(key, seed: seed)) }
                let words = Self.meanWordsRead(keys, in: &storage)
                #expect(words < 16, "\(words) words, distance \(distance), \(seed)")
                storage.deallocate()
            }
        }
    }

    /// Against a dictionary, with seeds of all kinds, also while words move to a table that is spread.
    @Test("nothing is lost or found twice while hashes are spread", arguments: [crowding, dense, nil])
    func spreading(fixed: HashSeed?) {
        let number = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: number)
        var spreads = 0
        for round in 0..<12 {
            let seed = fixed ?? HashSeed(word: random.next())
            var storage = Storage(seed: seed, keepsIdentities: false)
            defer { storage.deallocate() }
            func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: seed) }
            let distance = fixed != nil ? 1 : [1, 3, 16, 1000][round % 4]
            // Tables of more than ``EntryStorage/mostRebuilt`` words move bit by bit.
            let most = round % 3 == 0 ? 20_000 : 300
            var slots: [Int: UInt32] = [:]
            var (first, end) = (0, 0)
            for step in 0..<3 * most {
                // A window that moves, from which some are taken out of order.
                let key = end * distance
                if storage.find(key, hash(key)) != nil { Issue.record("\(key) is found (seed \(number))") }
                slots[key] = storage.insert(Self.entry(key), hash: hash(key))
                end += 1
                // Words move in pieces only if somebody spreads a large table.
                if step == most / 2, fixed == nil { storage.spread() }
                if slots.count > most || Int.random(in: 0..<8, using: &random) == 0 {
                    let other = Int.random(in: first..<end, using: &random) * distance
                    for gone in [first * distance, other] {
                        guard let slot = slots.removeValue(forKey: gone) else { continue }
                        if storage.find(gone, hash(gone)) != slot { Issue.record("\(gone) is lost (seed \(number))") }
                        if storage.remove(slot, hash: hash(gone)).key != gone {
                            Issue.record("another entry than \(gone) (seed \(number))")
                        }
                        if storage.find(gone, hash(gone)) != nil { Issue.record("\(gone) stays (seed \(number))") }
                    }
                    first += 1
                }
                if step % (most / 8) == 0 {
                    for (key, slot) in slots where storage.find(key, hash(key)) != slot {
                        Issue.record("\(key) is not found at step \(step) (seed \(number))")
                    }
                }
            }
            #expect(storage.count == slots.count)
            for (key, slot) in slots where storage.find(key, hash(key)) != slot {
                Issue.record("\(key) is not found at the end (seed \(number))")
            }
            if storage.layout.isSpread { spreads += 1 }
        }
        #expect(spreads > 0, "seed \(number)")
    }

    /// Keys that somebody has chosen who knows the seed: all begin at eight words of 4,096. A cache that does not
    /// spread them passes some thousand words at each step.
    @Test func keysThatShareAHomeAreSpread() {
        let engine = CacheEngine<Int, Int>()
        let keys = Array(
            (0...).lazy.filter { KeyHash.hash($0, seed: engine.seed) &>> 32 & 0xFFF < 8 }.prefix(1500)
        )
        for key in keys { engine.setValue(key, forKey: key) }
        engine.forEachShard { shard in
            #expect(shard.pointee.storage.layout.isSpread)
            #expect(Self.meanWordsRead(keys, in: &shard.pointee.storage) < 2)
        }
        for key in keys { #expect(engine.value(forKey: key) == key) }
        engine._checkInvariants()
        for key in keys.prefix(700) { engine.removeValue(forKey: key) }
        engine._checkInvariants()
        for key in keys.prefix(700) { #expect(engine.value(forKey: key) == nil) }
        for key in keys.dropFirst(700) { #expect(engine.value(forKey: key) == key) }
    }
}

extension EntryStorage {
    /// Takes an entry out as a shard does.
    mutating func remove(
        _ slot: UInt32,
        hash: UInt64,
        keepsTable: Bool = false,
        sparing: Bool = false
    ) -> Entry<Key, Value> {
        let (entry, areCrowded) = take(slot, hash: hash)
        if areCrowded, !keepsTable { spread(sparing: sparing) }
        return entry
    }
}
