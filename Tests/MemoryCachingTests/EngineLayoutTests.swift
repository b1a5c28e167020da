//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Cache lines that another processor wrote last are what a second thread costs, so they are counted.
@Suite("Engine: which lines of a shard are written")
struct EngineLayoutTests {
    private typealias Engine = CacheEngine<Int, Int>

    /// How many lines of 64 bytes of the shard of `key`, its lock's among them, `body` leaves changed.
    private func changedLines(of engine: Engine, key: Int, _ body: () -> Void) -> Int {
        let word = engine.directory.load(ordering: .acquiring)
        let index = Engine.shardIndex(KeyHash.hash(key, seed: engine.seed), of: word)
        let lock = UnsafeRawPointer(Engine.shard(index, of: word)) - ShardLock.distance
        #expect(UInt(bitPattern: lock) % 64 == 0, "a shard begins with a cache line")
        let bytes = UnsafeRawBufferPointer(start: lock, count: Engine.shardStride)
        let before = [UInt8](bytes)
        body()
        return stride(from: 0, to: bytes.count, by: 64).count {
            !bytes[$0..<$0 + 64].elementsEqual(before[$0..<$0 + 64])
        }
    }

    /// What a call of each kind may write: `credit` is a line more where the process's memory is accounted for.
    @Test(
        "a hit and an exchange mostly write one line, an insertion that evicts at most four",
        arguments: [false, true],
        [false, true]
    )
    func lines(hasCosts: Bool, isAccounted: Bool) {
        let (count, caches) = (8000, 5)
        let (cost, credit) = (hasCosts ? 10 : 0, isAccounted ? 1 : 0)
        var (wideInsertions, wideHits, wideExchanges) = (0, 0, 0)
        for _ in 0..<caches {
            let cache = MemoryCache<Int, Int>(
                countLimit: hasCosts ? 0 : count,
                totalCostLimit: hasCosts ? count * 10 : 0,
                options: .init(evictsUnderMemoryPressure: isAccounted)
            )
            let engine = cache.engine
            #expect((engine.governor != nil) == isAccounted)
            for key in 0..<count * 2 { engine.setValue(key, forKey: key, cost: cost) }
            for key in count * 2..<count * 3 {
                let written = changedLines(of: engine, key: key) { engine.setValue(key, forKey: key, cost: cost) }
                if written > 4 + credit { wideInsertions += 1 }
                if engine.entryCount > count { Issue.record("nothing was evicted") }
                let read = changedLines(of: engine, key: key) { _ = engine.value(forKey: key) }
                if read > 1 { wideHits += 1 }
                let exchanged = changedLines(of: engine, key: key) { engine.setValue(-key, forKey: key, cost: cost) }
                if exchanged > 1 + credit { wideExchanges += 1 }
            }
        }
        // One newcomer in 16 is sampled. Now and then a shard hands in what it has seen, takes its victim from another,
        // or has a head of another height; with 64 shards that takes 1,000 insertions of 8,000, with 16 it takes 800.
        // In one cache of a hundred it took 1,220: hence five, whose keys are hashed by seeds of their own.
        let all = count * caches
        #expect(wideInsertions * 7 < all, "\(wideInsertions) of \(all) insertions wrote more than four lines")
        #expect(wideHits * 8 < all, "\(wideHits) of \(all) hits wrote more than one line")
        #expect(wideExchanges * 8 < all, "\(wideExchanges) of \(all) exchanges wrote more than one line")
    }
}
