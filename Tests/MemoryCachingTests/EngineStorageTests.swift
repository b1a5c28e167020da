//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite("Engine: the table of a shard")
struct EngineStorageTests {
    /// Finds, adds and removes entries while words move from table to table, against a dictionary.
    /// A key whose type is no integer, so that hashes are stored by slot.
    private struct Name: Hashable {
        let number: Int
    }

    /// When tables are to be small rather than fast.
    enum Sparing: CaseIterable {
        case never, always, atTimes
    }

    @Test("nothing is lost or found twice while the table grows", arguments: [false, true], Sparing.allCases)
    func growth(hasRemovals: Bool, sparing: Sparing) {
        grow(hasRemovals: hasRemovals, sparing) { $0 }
        grow(hasRemovals: hasRemovals, sparing) { Name(number: $0) }
    }

    private func grow<Key: Hashable>(hasRemovals: Bool, _ sparing: Sparing, _ makeKey: (Int) -> Key) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let hashSeed = HashSeed(word: random.next())
        var storage = EntryStorage<Key, Int>(seed: hashSeed, keepsIdentities: !KeyHash<Key>.isInteger)
        defer { storage.deallocate() }
        var slots: [Int: UInt32] = [:]
        func hash(_ number: Int) -> UInt64 { KeyHash.hash(makeKey(number), seed: hashSeed) }
        func found(_ number: Int) -> UInt32? {
            let slot = storage.find(makeKey(number), hash(number))
            if !KeyHash<Key>.isInteger {
                var candidates: [UInt32] = []
                storage.forEachCandidate(hash(number)) {
                    candidates.append($0)
                    return true
                }
                let expected = slots[number].map { [$0] } ?? []
                if Set(candidates).count != candidates.count || !candidates.contains(expected) {
                    Issue.record("candidates of \(number): \(candidates) (seed \(seed))")
                }
            }
            return slot
        }
        func insert(_ number: Int) -> UInt32 {
            let meta = EntryMeta(info: EntryInfo(bits: 0))
            return storage.insert(
                Entry(meta: meta, key: makeKey(number), value: number),
                hash: hash(number),
                sparing: isSparing
            )
        }
        var isSparing = sparing == .always
        var fullest = 0.0
        var growths = 0
        var wasGrowing = false
        for step in 0..<150_000 {
            let number = hasRemovals ? Int.random(in: 0..<60_000, using: &random) : step
            if sparing == .atTimes, step % 5000 == 0 { isSparing = Bool.random(using: &random) }
            if let slot = slots[number] {
                if found(number) != slot { Issue.record("\(number) is not found (seed \(seed))") }
                if Int.random(in: 0..<3, using: &random) == 0 {
                    let entry = storage.remove(slot, hash: hash(number), sparing: isSparing)
                    if entry.key != makeKey(number) { Issue.record("another entry than \(number) (seed \(seed))") }
                    slots[number] = nil
                    if found(number) != nil { Issue.record("\(number) is still found (seed \(seed))") }
                }
            } else {
                if found(number) != nil { Issue.record("\(number) is found (seed \(seed))") }
                slots[number] = insert(number)
            }
            if storage.oldTable != nil, !wasGrowing {
                growths += 1
                for (number, slot) in slots where found(number) != slot {
                    Issue.record("\(number) is not found while the table grows (seed \(seed))")
                }
            }
            wasGrowing = storage.oldTable != nil
            fullest = max(fullest, Double(storage.count) / Double(storage.layout.size))
        }
        #expect(growths > 0)
        #expect(sparing == .never ? fullest <= 0.5 : fullest <= 0.6875, "seed \(seed)")
        if sparing == .always { #expect(fullest > 0.625, "seed \(seed)") }
        #expect(storage.count == slots.count)
        for (number, slot) in slots { #expect(found(number) == slot, "seed \(seed)") }
        // No insertion moves more than a few words.
        for number in -1_000_000 ..< -900_000 {
            let before = storage.movedSlots
            let wasMoving = storage.oldTable != nil
            _ = insert(number)
            if wasMoving, storage.oldTable != nil, storage.movedSlots - before > 16 {
                Issue.record("an insertion moved \(storage.movedSlots - before) words (seed \(seed))")
            }
        }
    }

    /// While words move, entries that come and go at once leave nothing behind: neither words of slots that are vacant
    /// again in the old table, nor two words of a slot that was taken again in the new one.
    @Test(arguments: 0..<20)
    func changesWhileTheTableGrows(round: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let hashSeed = HashSeed(word: random.next())
        var storage = EntryStorage<Int, Int>(seed: hashSeed, keepsIdentities: false)
        defer { storage.deallocate() }
        func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: hashSeed) }
        var held: [Int] = []
        var (next, changes) = (0, 0)
        func insert() {
            let meta = EntryMeta(info: EntryInfo(bits: 0))
            _ = storage.insert(Entry(meta: meta, key: next, value: next), hash: hash(next))
            held.append(next)
            next += 1
        }
        while storage.oldTable == nil { insert() }
        // Removals before each insertion, so that slots are taken again, moved ones and others.
        while storage.oldTable != nil {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let key = held.remove(at: Int.random(in: 0..<held.count, using: &random))
                _ = storage.remove(storage.find(key, hash(key))!, hash: hash(key))
                if storage.find(key, hash(key)) != nil { Issue.record("\(key) is still found (seed \(seed))") }
                changes += 1
            }
            insert()
        }
        #expect(changes > 0)
        var words: [UInt32] = []
        for place in 0..<storage.layout.size where storage.table[place] != 0 {
            words.append(storage.table[place] & EntryStorage<Int, Int>.slotMask)
        }
        #expect(words.count == held.count && Set(words).count == held.count, "seed \(seed)")
        for key in held where storage.find(key, hash(key)) == nil { Issue.record("\(key) is lost (seed \(seed))") }
    }
}
