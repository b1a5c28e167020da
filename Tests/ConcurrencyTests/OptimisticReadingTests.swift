//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CMemoryShims
import Foundation
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// A trivial value of a cache line, all words of which say the same: half of one and half of another is seen.
struct Wide: Equatable, Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    init(_ number: Int) {
        let word = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        words = (word, word, word, word, word, word, word, word)
    }

    static func == (left: Wide, right: Wide) -> Bool {
        withUnsafeBytes(of: left.words) { left in withUnsafeBytes(of: right.words) { left.elementsEqual($0) } }
    }

    var isWhole: Bool {
        withUnsafeBytes(of: words) { bytes in
            let words = bytes.bindMemory(to: UInt64.self)
            return words.allSatisfy { $0 == words[0] }
        }
    }
}

extension CacheEngine where Key == Int {
    /// An engine of one shard that holds `count` entries, all of them used, which lookups without the lock read.
    static func filled(_ count: Int, limit: Int = 0, _ make: (Int) -> Value) -> CacheEngine {
        let engine = CacheEngine(countLimit: limit)
        for key in 0..<count { engine.setValue(make(key), forKey: key) }
        for key in 0..<count { _ = engine.value(forKey: key) }
        engine.admitReader()
        return engine
    }
}

#if os(Linux)
private let lateKey = Atomic<pthread_key_t>(0)
private let lateUses = Atomic<Int>(0)
#endif

@Suite("Lookups without a lock", .serialized, .enabled(if: CacheEngine<Int, Int>.admitsReaders))
struct OptimisticReadingTests {
    /// The shard of `key`, as a lookup finds it.
    func shard<Value>(of key: Int, in engine: CacheEngine<Int, Value>) -> UnsafeMutablePointer<
        Shard<Int, Value>
    > {
        let hash = KeyHash.hash(key, seed: engine.seed)
        let word = engine.directory.load(ordering: .acquiring)
        return CacheEngine.shard(CacheEngine<Int, Value>.shardIndex(hash, of: word), of: word)
    }

    func readWithoutLock<Value>(_ key: Int, in engine: CacheEngine<Int, Value>) -> Value? {
        engine.valueWithoutLock(key, KeyHash.hash(key, seed: engine.seed)) ?? nil
    }

    /// Whether it is known without the lock that `key` is not there.
    private func missesWithoutLock<Value>(_ key: Int, in engine: CacheEngine<Int, Value>) -> Bool {
        if case .some(nil) = engine.valueWithoutLock(key, KeyHash.hash(key, seed: engine.seed)) { true } else { false }
    }

    @Test(
        "not before two threads have met; then all that was used once is read without the lock",
        arguments: [9, 9000]
    )
    func beginning(_ count: Int) {
        let engine = CacheEngine<Int, Int>()
        #expect(engine.value(forKey: 0) == nil)
        for key in 0..<count { engine.setValue(~key, forKey: key) }
        for key in 0..<count { #expect(engine.value(forKey: key) == ~key) }
        #expect(readWithoutLock(1, in: engine) == nil)

        // Whoever finds the lock taken waits for it, and reads without it from then on.
        let held = ShardLock(guarding: shard(of: 1, in: engine))
        held.lock()
        let thread = StressThread { _ = engine.value(forKey: 1) }
        while engine.readers.load(ordering: .acquiring) == 0 { usleep(100) }
        #expect(readWithoutLock(1, in: engine) == nil, "before each shard keeps its memory readable")
        held.unlock()
        thread.join()
        #expect(engine.value(forKey: 1) == ~1)
        for key in 0..<count { #expect(readWithoutLock(key, in: engine) == ~key) }
        #expect(engine.statistics.hits == 2 * count + 2)
        #expect(engine.statistics.misses == 1)
    }

    @Test("while the lock is held, hits go on; while somebody writes, none is believed")
    func heldLock() {
        let engine = CacheEngine<Int, Int>()
        for key in 0..<100 { engine.setValue(key, forKey: key) }
        for key in 0..<100 { _ = engine.value(forKey: key) }
        engine.admitReader()
        let shard = shard(of: 0, in: engine)
        ShardLock(guarding: shard).lock()
        for key in 0..<100 { #expect(engine.value(forKey: key) == key) }
        engine.beginWriting(shard)
        for key in 0..<100 { #expect(readWithoutLock(key, in: engine) == nil) }
        engine.unlock(shard)
        for key in 0..<100 { #expect(readWithoutLock(key, in: engine) == key) }
    }

    @Test("first uses, lifetimes and other orders are left to the lock, misses are not")
    func notSimple() {
        let engine = CacheEngine<Int, Int>()
        engine.setValue(1, forKey: 1)
        engine.admitReader()
        #expect(readWithoutLock(1, in: engine) == nil)
        #expect(engine.value(forKey: 1) == 1)
        #expect(readWithoutLock(1, in: engine) == 1)
        #expect(missesWithoutLock(2, in: engine) && !missesWithoutLock(1, in: engine))
        #expect(engine.statistics.misses == 1)
        _ = engine.insert(2, forKey: 2, cost: 0, recomputeCost: nil, expiresAfter: .seconds(1000), if: nil)
        #expect(engine.value(forKey: 2) == 2)
        #expect(readWithoutLock(2, in: engine) == nil && !missesWithoutLock(2, in: engine))
        engine.removeValue(forKey: 1)
        #expect(missesWithoutLock(1, in: engine) && engine.value(forKey: 1) == nil)

        let byUse = CacheEngine<Int, Int>(ordering: .reuse)
        byUse.setValue(1, forKey: 1)
        byUse.admitReader()
        #expect(byUse.value(forKey: 1) == 1)
        #expect(readWithoutLock(1, in: byUse) == nil)
    }

    @Test("every hit is counted once, by more threads than have a line of their own")
    func counts() {
        let engine = CacheEngine<Int, Int>()
        for key in 0..<6000 { engine.setValue(key, forKey: key) }
        engine.admitReader()
        let before = engine.statistics.hits
        let turns = stressed(3000)
        let gate = Atomic<Int>(0)
        onThreads(150) { _ in
            gate.add(1, ordering: .relaxed)
            while gate.load(ordering: .relaxed) < 150 { usleep(100) }
            for turn in 0..<turns { _ = engine.value(forKey: turn % 6000) }
        }
        // And by threads one after the other, which get each other's lines.
        for _ in 0..<300 { StressThread { for key in 0..<10 { _ = engine.value(forKey: key) } }.join() }
        #expect(engine.statistics.hits - before == 150 * turns + 3000)
    }

    @Test("a shard whose entries are still to come is given what its entries' shard has, and none is moved for it")
    func amongMoves() {
        let engine = CacheEngine<Int, Int>()
        for key in 0...4096 { engine.setValue(key, forKey: key) }
        let word = engine.directory.load(ordering: .acquiring)
        #expect(word & 63 > 0, "the cache has split")
        func waiting() -> Int {
            (0..<1 << Int(word & 63)).count { CacheEngine<Int, Int>.shard($0, of: word).pointee.isElsewhere }
        }
        let before = waiting()
        engine.admitReader()
        #expect(before > 0 && waiting() == before)
        for key in 0...4096 { #expect(engine.value(forKey: key) == key) }
        for index in 0..<1 << Int(word & 63) {
            let shard = CacheEngine<Int, Int>.shard(index, of: word)
            #expect(!shard.pointee.isElsewhere && shard.pointee.storage.stable != nil)
        }
        for key in 5000..<80_000 { engine.setValue(key, forKey: key) }
        engine.forEachShard { #expect($0.pointee.storage.stable != nil) }
    }

    @Test("who only looks keeps no lookup waiting, and who sets or removes ends what it begins")
    func sequence() {
        let engine = CacheEngine<Int, Int>()
        engine.setValue(1, forKey: 1)
        let sequence = ShardLock(guarding: shard(of: 1, in: engine)).sequence
        func written<Result>(by body: () -> Result) -> UInt32 {
            let before = sequence.pointee.load(ordering: .relaxed)
            _ = body()
            return sequence.pointee.load(ordering: .relaxed) - before
        }
        for key in 1...2 {
            #expect(written { engine.contains(key) } == 0)
            #expect(written { engine.peekValue(forKey: key) } == 0)
            #expect(written { engine.value(forKey: key) } == 0)
        }
        #expect(written { engine.setValue(3, forKey: 1) } == 4)
        #expect(written { engine.setValue(2, forKey: 2) } == 4)
        #expect(written { engine.removeValue(forKey: 2) } == 4)
    }

    @Test("a lookup waits for who writes, not for who has the lock, and not for ever")
    func waiting() {
        let engine = CacheEngine<Int, Int>()
        let hash = KeyHash.hash(1, seed: engine.seed)
        #expect(!engine.waitForWriter(hash), "a cache without a shard")
        engine.setValue(1, forKey: 1)
        #expect(engine.waitForWriter(hash))
        let shard = engine.lockShardForReading(hash)
        #expect(engine.waitForWriter(hash))
        engine.beginWriting(shard)
        #expect(!engine.waitForWriter(hash))
        engine.unlock(shard)
        #expect(engine.waitForWriter(hash))
        #expect(engine.value(forKey: 1) == 1)
    }

    #if os(Linux)
    @Test("threads that first use a cache when they end for good cost no number")
    func lateThreads() {
        let engine = CacheEngine<Int, Int>()
        engine.setValue(1, forKey: 1)
        engine.admitReader()
        var key = pthread_key_t()
        pthread_key_create(&key) { context in
            // Once more in each round of destructors, and a use of the cache in the last of four.
            let round = Int(bitPattern: context)
            if round < 4 {
                pthread_setspecific(lateKey.load(ordering: .relaxed), UnsafeRawPointer(bitPattern: round + 1))
            } else {
                lateUses.add(cms_take_reader_line() < CMS_NO_LINE ? 1 : 0, ordering: .relaxed)
            }
        }
        lateKey.store(key, ordering: .relaxed)
        for _ in 0..<300 {
            var thread = pthread_t()
            pthread_create(
                &thread,
                nil,
                { _ in
                    pthread_setspecific(lateKey.load(ordering: .relaxed), UnsafeRawPointer(bitPattern: 1))
                    return nil
                },
                nil
            )
            pthread_join(thread, nil)
        }
        #expect(lateUses.load(ordering: .relaxed) == 300)
        pthread_key_delete(key)
    }
    #endif

    #if os(Linux)
    @Test("in the child of a fork the thread that called keeps its line, however many others want one")
    func forkedLine() {
        let own = cms_take_reader_line()
        #expect(own < CMS_NO_LINE)
        let code = exitCodeOfChild {
            lateUses.store(0, ordering: .relaxed)
            lateKey.store(0, ordering: .relaxed)
            for _ in 0..<150 {
                var thread = pthread_t()
                let routine: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { own in
                    if cms_take_reader_line() == UInt64(UInt(bitPattern: own)) { lateKey.add(1, ordering: .relaxed) }
                    lateUses.add(1, ordering: .releasing)
                    // They live as long as the child.
                    while true { pause() }
                }
                if pthread_create(&thread, nil, routine, UnsafeMutableRawPointer(bitPattern: UInt(own))) != 0 {
                    return 2
                }
            }
            while lateUses.load(ordering: .acquiring) < 150 { usleep(1000) }
            return lateKey.load(ordering: .relaxed) == 0 && cms_take_reader_line() == own ? 0 : 1
        }
        #expect(code == 0)
    }
    #endif

    @Test("keys that stay are found at all times, while others come and go across both splits")
    func stayingKeys() {
        let engine = CacheEngine<Int, Int>()
        for key in -1000..<0 { engine.setValue(key, forKey: key) }
        engine.admitReader()
        let missed = Atomic<Int>(0)
        let misread = Atomic<Int>(0)
        let rounds = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let readers = (0..<2).map { _ in
            StressThread {
                while !isOver.load(ordering: .relaxed) {
                    for key in -1000..<0 {
                        let value = engine.value(forKey: key)
                        if value == nil { missed.add(1, ordering: .relaxed) }
                        if let value, value != key { misread.add(1, ordering: .relaxed) }
                    }
                    rounds.add(1, ordering: .relaxed)
                }
            }
        }
        let count = stressed(80_000)
        for _ in 0..<2 {
            let before = rounds.load(ordering: .relaxed)
            for key in 0..<count { engine.setValue(key, forKey: key) }
            for key in 0..<count { engine.removeValue(forKey: key) }
            while rounds.load(ordering: .relaxed) - before < 4 { usleep(100) }
        }
        isOver.store(true, ordering: .relaxed)
        for reader in readers { reader.join() }
        #expect(missed.load(ordering: .relaxed) == 0)
        #expect(misread.load(ordering: .relaxed) == 0)
        #expect(engine.statistics.misses == 0)
        engine._checkInvariants()
    }

    @Test("while a table grows or hashes are spread, what is not in the new one is not taken for missing")
    func missesWhileWordsMove() {
        missesWhileWordsMove { $0.growTable(to: 8 * EntryStorage<Int, Int>.mostRebuilt) }
        missesWhileWordsMove { $0.spread() }
    }

    private func missesWhileWordsMove(to larger: (inout EntryStorage<Int, Int>) -> Void) {
        var engine: CacheEngine<Int, Int>
        repeat {
            engine = CacheEngine<Int, Int>()
            for key in 0..<1000 { engine.setValue(key, forKey: key) }
            // By a few secret factors these keys crowd, and their hashes are spread already.
        } while self.shard(of: 0, in: engine).pointee.storage.layout.isSpread
        engine.admitReader()
        #expect(missesWithoutLock(-1, in: engine))
        let shard = shard(of: 0, in: engine)
        ShardLock(guarding: shard).lock()
        engine.beginWriting(shard)
        // The words of a table of so many places do not move at once.
        shard.pointee.storage.reserve(EntryStorage<Int, Int>.mostRebuilt)
        larger(&shard.pointee.storage)
        shard.pointee.publishTable()
        engine.unlock(shard)
        #expect(shard.pointee.storage.oldTable != nil)
        for key in 0..<1000 { #expect(!missesWithoutLock(key, in: engine)) }
        #expect(!missesWithoutLock(-1, in: engine) && engine.value(forKey: -1) == nil)

        var key = 1000
        while shard.pointee.storage.oldTable != nil, key < 4000 {
            engine.setValue(key, forKey: key)
            key += 1
        }
        #expect(missesWithoutLock(-1, in: engine))
        for key in 0..<key { #expect(engine.value(forKey: key) == key) }
        engine._checkInvariants()
    }

    @Test("caches grow, split, shrink and are emptied under readers, and each value is right")
    func changes() {
        let seed = UInt64.random(in: 1 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<stressed(4) {
            let engine = CacheEngine<Int, Wide>()
            engine.setValue(Wide(0), forKey: 0)
            engine.admitReader()
            var ownReads = 0
            let (parts, hits) = countParts(engine, 30_000) { seen in
                for round in 0..<4 {
                    let before = seen().hits
                    for key in 0..<Int.random(in: 100..<30_000, using: &random) {
                        let value = Wide(key &* 7 &+ round)
                        engine.setValue(value, forKey: key)
                        #expect(engine.value(forKey: key) == value, "seed \(seed)")
                        // Unless a reader is in the shard's lock, for a first use.
                        guard let read = readWithoutLock(key, in: engine) else { continue }
                        ownReads += 1
                        #expect(read == value, "seed \(seed)")
                    }
                    while seen().hits == before { usleep(100) }
                    if Bool.random(using: &random) { engine.removeAll() } else { engine.trim(toCount: 50) }
                }
            }
            #expect(parts == 0, "seed \(seed)")
            #expect(hits > 0 && ownReads > 0)
            engine._checkInvariants()
        }
    }

    @Test(
        "memory out of use stays readable, holds nothing, and is used again",
        arguments: [1 << 10, 4 << 10, 64 << 10]
    )
    func stableMemory(_ size: Int) {
        let stable = StableMemory()
        var seen: [UnsafeMutableRawPointer] = []
        for cycle in 0..<3 {
            var memory = stable.allocateZeros(size)
            #expect((0..<size).allSatisfy { memory.load(fromByteOffset: $0, as: UInt8.self) == 0 }, "cycle \(cycle)")
            var blocks = [memory]
            for step in 0..<4 {
                let bytes = size << step
                memory.initializeMemory(as: UInt8.self, repeating: UInt8(7 + step), count: bytes)
                let grown = stable.grow(memory, from: bytes, to: 2 * bytes)
                #expect((0..<bytes).allSatisfy { grown.load(fromByteOffset: $0, as: UInt8.self) == UInt8(7 + step) })
                let left = (0..<bytes).map { memory.load(fromByteOffset: $0, as: UInt8.self) }
                if AlignedMemory.isMapped(bytes) { #expect(left.allSatisfy { $0 == 0 }) }
                memory = grown
                blocks.append(memory)
            }
            stable.retire(memory, size << 4)
            if cycle == 0 { seen = blocks } else { #expect(blocks == seen, "cycle \(cycle) maps more") }
        }
    }

    #if os(Linux)
    @Test("memory that is freed under readers, as a control, ends the process")
    func freedMemory() {
        let status = statusOfChild {
            signal(SIGSEGV, SIG_DFL)
            signal(SIGBUS, SIG_DFL)
            let begin = ContinuousClock.now
            while ContinuousClock.now - begin < .seconds(50) {
                let engine = CacheEngine<Int, Wide>()
                for key in 0..<200 { engine.setValue(Wide(key), forKey: key) }
                engine.admitReader()
                engine.forEachShard { $0.pointee.storage.stable = nil }
                _ = countParts(engine, 200) { _ in
                    for key in 0..<4000 { engine.setValue(Wide(key), forKey: key) }
                }
            }
        }
        #expect([SIGSEGV, SIGBUS].contains(status & 0x7F), "status \(status)")
    }
    #endif
}
