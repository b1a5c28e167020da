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

/// Readers beside writers, and beside writers that break the rules: those must be caught.
extension OptimisticReadingTests {
    /// Has two threads read keys below `count` until `body` returns, which may ask how it stands; how many values were
    /// in parts, and how many were read.
    func countParts(
        _ engine: CacheEngine<Int, Wide>,
        _ count: Int,
        _ body: (_ seen: () -> (parts: Int, hits: Int)) -> Void
    ) -> (parts: Int, hits: Int) {
        let isOver = Atomic<Bool>(false)
        let parts = Atomic<Int>(0)
        let hits = Atomic<Int>(0)
        let readers = (0..<2).map { reader in
            StressThread {
                var random = SplitMix64(seed: UInt64(reader))
                while !isOver.load(ordering: .relaxed) {
                    let key = Int.random(in: 0..<count, using: &random)
                    guard let value = readWithoutLock(key, in: engine) ?? engine.value(forKey: key) else { continue }
                    hits.add(1, ordering: .relaxed)
                    if !value.isWhole { parts.add(1, ordering: .relaxed) }
                }
            }
        }
        body { (parts.load(ordering: .relaxed), hits.load(ordering: .relaxed)) }
        isOver.store(true, ordering: .relaxed)
        for reader in readers { reader.join() }
        return (parts.load(ordering: .relaxed), hits.load(ordering: .relaxed))
    }

    @Test("no value is seen in parts")
    func wholeValues() {
        let engine = CacheEngine.filled(4, Wide.init)
        let (parts, hits) = countParts(engine, 4) { seen in
            let shard = shard(of: 0, in: engine)
            let begin = ContinuousClock.now
            // Until so much was read; a minute is for machines that have no time for it.
            while ContinuousClock.now - begin < .seconds(60), seen().parts == 0, seen().hits < 300_000 {
                for turn in 0..<1000 {
                    ShardLock(guarding: shard).lock()
                    engine.beginWriting(shard)
                    for key in 0..<4 {
                        let slot = shard.pointee.storage.find(key, KeyHash.hash(key, seed: engine.seed))!
                        shard.pointee.storage.entries[Int(slot)].value = Wide(turn)
                    }
                    engine.endWriting(shard)
                    ShardLock(guarding: shard).unlock()
                }
            }
        }
        #expect(parts == 0)
        #expect(hits > 0)
    }

    /// The control of ``wholeValues()``.
    @Test func aWriterThatDoesNotSayThatItWritesIsCaught() {
        let engine = CacheEngine.filled(4, Wide.init)
        let (parts, _) = countParts(engine, 4) { seen in
            let shard = shard(of: 0, in: engine)
            ShardLock(guarding: shard).lock()
            let slot = shard.pointee.storage.find(1, KeyHash.hash(1, seed: engine.seed))!
            withUnsafeMutableBytes(of: &shard.pointee.storage.entries[Int(slot)].value) {
                $0.storeBytes(of: 1, as: UInt64.self)
            }
            while seen().parts == 0 { usleep(1000) }
            shard.pointee.storage.entries[Int(slot)].value = Wide(1)
            ShardLock(guarding: shard).unlock()
        }
        #expect(parts > 0)
    }

    /// Has a thread read keys below 20 without the lock until `body` returns, which may ask how it stands; how many were
    /// missed, and how many were there.
    private func countMisses(
        _ engine: CacheEngine<Int, Int>,
        _ body: (_ seen: () -> (missed: Int, hits: Int)) -> Void
    ) -> (missed: Int, hits: Int) {
        let missed = Atomic<Int>(0)
        let hits = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let reader = StressThread {
            engine.admitReader()
            while !isOver.load(ordering: .relaxed) {
                for key in 0..<20 {
                    switch engine.valueWithoutLock(key, KeyHash.hash(key, seed: engine.seed)) {
                    case .some(nil): missed.add(1, ordering: .relaxed)
                    case .some: hits.add(1, ordering: .relaxed)
                    case nil: break
                    }
                }
            }
        }
        body { (missed.load(ordering: .relaxed), hits.load(ordering: .relaxed)) }
        isOver.store(true, ordering: .relaxed)
        reader.join()
        return (missed.load(ordering: .relaxed), hits.load(ordering: .relaxed))
    }

    @Test("nothing that is there is missed while words move")
    func misses() {
        let engine = CacheEngine.filled(3000) { $0 }
        let (missed, hits) = countMisses(engine) { seen in
            let shard = shard(of: 0, in: engine)
            let begin = ContinuousClock.now
            while ContinuousClock.now - begin < .seconds(60), seen().missed == 0, seen().hits < 100_000 {
                // In debug builds a reader seldom gets between two sections.
                let before = seen().hits
                while seen().hits - before < 100, seen().missed == 0, ContinuousClock.now - begin < .seconds(60) {
                    usleep(10)
                }
                // Inside the section a key has no word, and those behind it move.
                for key in 0..<20 {
                    let hash = KeyHash.hash(key, seed: engine.seed)
                    ShardLock(guarding: shard).lock()
                    engine.beginWriting(shard)
                    let slot = shard.pointee.storage.find(key, hash)!
                    shard.pointee.storage.unlink(slot, hash: hash)
                    shard.pointee.storage.link(slot, hash: hash)
                    engine.endWriting(shard)
                    ShardLock(guarding: shard).unlock()
                }
            }
        }
        #expect(missed == 0)
        #expect(hits > 0)
        engine._checkInvariants()
    }

    /// The control of ``misses()``.
    @Test func aWriterThatDoesNotSayThatItMovesWordsIsCaught() {
        let engine = CacheEngine.filled(3000) { $0 }
        let (missed, _) = countMisses(engine) { seen in
            let shard = shard(of: 0, in: engine)
            let hash = KeyHash.hash(7, seed: engine.seed)
            ShardLock(guarding: shard).lock()
            let slot = shard.pointee.storage.find(7, hash)!
            shard.pointee.storage.unlink(slot, hash: hash)
            while seen().missed == 0 { usleep(1000) }
            shard.pointee.storage.link(slot, hash: hash)
            ShardLock(guarding: shard).unlock()
        }
        #expect(missed > 0)
        engine._checkInvariants()
    }
}
