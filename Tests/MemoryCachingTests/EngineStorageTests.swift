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
    @Test("nothing is lost or found twice while the table grows", arguments: [false, true])
    func growth(hasRemovals: Bool) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let hashSeed = HashSeed(word: random.next())
        var storage = EntryStorage<Int, Int>(seed: hashSeed, keepsIdentities: false)
        defer { storage.deallocate() }
        var slots: [Int: UInt32] = [:]
        func hash(_ key: Int) -> UInt64 { KeyHash.hash(key, seed: hashSeed) }
        var growths = 0
        var wasGrowing = false
        for step in 0..<150_000 {
            let key = hasRemovals ? Int.random(in: 0..<60_000, using: &random) : step
            if let slot = slots[key] {
                if storage.find(key, hash(key)) != slot { Issue.record("\(key) is not found (seed \(seed))") }
                if Int.random(in: 0..<3, using: &random) == 0 {
                    let entry = storage.remove(slot, hash: hash(key))
                    if entry.key != key { Issue.record("another entry than \(key) (seed \(seed))") }
                    slots[key] = nil
                    if storage.find(key, hash(key)) != nil { Issue.record("\(key) is still found (seed \(seed))") }
                }
            } else {
                if storage.find(key, hash(key)) != nil { Issue.record("\(key) is found (seed \(seed))") }
                let meta = EntryMeta(info: EntryInfo(bits: 0))
                slots[key] = storage.insert(Entry(meta: meta, key: key, value: key), hash: hash(key))
            }
            if storage.oldTable != nil, !wasGrowing {
                growths += 1
                for (key, slot) in slots where storage.find(key, hash(key)) != slot {
                    Issue.record("\(key) is not found while the table grows (seed \(seed))")
                }
            }
            wasGrowing = storage.oldTable != nil
        }
        #expect(growths > 0)
        #expect(storage.count == slots.count)
        for (key, slot) in slots { #expect(storage.find(key, hash(key)) == slot, "seed \(seed)") }
        // No insertion moves more than a few words.
        for key in -1_000_000 ..< -900_000 {
            let before = storage.movedPlaces
            let wasMoving = storage.oldTable != nil
            _ = storage.insert(Entry(meta: EntryMeta(info: EntryInfo(bits: 0)), key: key, value: 0), hash: hash(key))
            if wasMoving, storage.oldTable != nil { #expect(storage.movedPlaces - before <= 64) }
        }
    }
}
