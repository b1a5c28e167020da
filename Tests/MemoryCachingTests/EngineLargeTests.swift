//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing

@testable import MemoryCaching

/// What others do while a large insertion collects room: see `CacheEngine+Large`.
@Suite("Large insertions of the engine")
struct EngineLargeTests {
    private struct Key: Hashable { var name: String }

    /// Notes where `key` is, as a large insertion does before it collects room, lets `meanwhile` run, and says whether
    /// the key still counts as unchanged.
    private func isUnchanged<Found: Hashable>(
        _ key: Found,
        in engine: CacheEngine<Found, Int>,
        meanwhile: () -> Void
    ) -> Bool {
        let hash = KeyHash.hash(key, seed: engine.seed)
        let newcomer = Newcomer(hash: hash, cost: 900, info: EntryInfo(bits: 0))
        let (shard, slot) = engine.locate(key, hash)
        let finding = engine.noteFinding(of: newcomer, shard, slot)
        engine.unlock(shard)
        meanwhile()
        let again = engine.lockShard(hash)
        defer { engine.unlock(again) }
        return engine.isUnchanged(finding, key, hash, in: again)
    }

    @Test("a replacement of another cost is seen, whatever the key is")
    func replacementOfAnotherCost() {
        func check<Found: Hashable>(_ key: Found) {
            let engine = CacheEngine<Found, Int>(totalCostLimit: 1000)
            engine.setValue(1, forKey: key, cost: 100)
            #expect(isUnchanged(key, in: engine) {})
            #expect(isUnchanged(key, in: engine) { engine.setValue(2, forKey: key, cost: 100) })
            #expect(!isUnchanged(key, in: engine) { engine.setValue(3, forKey: key, cost: 300) })
            #expect(!isUnchanged(key, in: engine) { engine.removeValue(forKey: key) })
        }
        check(1)
        check("text")
        check(Key(name: "a key with an == of its own"))
    }

    @Test("others take the places that there are, but for the last")
    func placesBesideLarge() {
        let engine = CacheEngine<Int, Int>(countLimit: 6000)
        for key in 0..<5000 { engine.setValue(key, forKey: key) }
        engine.beginLarge()
        for key in 5000..<5999 { engine.setValue(key, forKey: key) }
        #expect(engine.entryCount == 5999)
        #expect(engine.statistics.removalCounts[.countLimit] == 0)
        engine.setValue(5999, forKey: 5999)
        #expect(engine.entryCount == 5999)
        #expect(engine.statistics.removalCounts[.countLimit] == 1)
        engine.endLarge()
        engine.setValue(6000, forKey: 6000)
        #expect(engine.entryCount == 6000)
        engine._checkInvariants()
    }
}
