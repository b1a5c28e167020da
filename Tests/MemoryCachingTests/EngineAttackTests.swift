//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
import Foundation
import MemoryCachingTestKit
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Equal hashes for all; comparing may run code.
private struct AlikeKey: Hashable, Sendable {
    var name: Int
    nonisolated(unsafe) static var onCompare: (() -> Void)?

    static func == (left: Self, right: Self) -> Bool {
        onCompare?()
        return left.name == right.name
    }
    func hash(into hasher: inout Hasher) {}
}

private final class Doomed: Sendable {
    let onDeinit: @Sendable () -> Void
    init(_ onDeinit: @escaping @Sendable () -> Void) { self.onDeinit = onDeinit }
    deinit { onDeinit() }
}

/// Eight bytes that lie at addresses divisible by four only.
private struct SmallParts: Hashable, Sendable {
    var first: Int32
    var second: Int32
}

extension CacheEngine where Key == Int, Value == Int {
    fileprivate func raiseInflation(by step: Double) {
        guard let shard = lockShard(at: 0) else { return }
        _ = shard.pointee.policy.pointee.advanceInflation(beyond: 0, by: step)
        unlock(shard)
    }

    /// Raises the base of every second shard.
    fileprivate func rebase() {
        var isTurn = false
        forEachShard { shard in
            isTurn.toggle()
            guard isTurn else { return }
            shard.pointee.shareInflation()
            shard.pointee.rebase(by: Float(shard.pointee.inflation - shard.pointee.base).nextDown)
            shard.pointee.publish()
        }
        _checkInvariants()
    }
}

/// What attacks from outside have broken once.
@Suite("Engine: promises that were broken once", .serialized)
struct EngineAttackTests {
    @Test("a value that a lookup let go of does not die under a lock")
    func deinitialisersOutsideLocks() {
        let cache = MemoryCache<AlikeKey, Doomed>()
        cache[AlikeKey(name: 1)] = Doomed { _ = cache.contains(AlikeKey(name: 3)) }
        AlikeKey.onCompare = {
            AlikeKey.onCompare = nil
            cache.removeAll()
        }
        failingWhenStuck("a lookup whose == removes what it compares") {
            #expect(cache[AlikeKey(name: 2)] == nil)
        }
        AlikeKey.onCompare = nil
    }

    @Test("equal strings in two normal forms are one key, however fast its value changes")
    func slowComparisons() {
        let cache = MemoryCache<String, Int>()
        let composed = String(repeating: "\u{E9}", count: 5000)
        let decomposed = String(repeating: "e\u{301}", count: 5000)
        let isDone = Atomic<Bool>(false)
        let group = DispatchGroup()
        group.enter()
        Thread.detachNewThread {
            var round = 0
            repeat {
                cache[composed] = round
                round += 1
            } while !isDone.load(ordering: .relaxed)
            group.leave()
        }
        for _ in 0..<5 { cache[decomposed] = -1 }
        isDone.store(true, ordering: .relaxed)
        group.wait()
        #expect(cache.count == 1)
        cache.removeValue(forKey: composed)
        #expect(!cache.contains(composed) && !cache.contains(decomposed) && cache.count == 0)
    }

    /// Entries that cost nothing stay while L rises above them by victims of the cost limit. How far they are below was
    /// rounded to more than all they were above 0, and a shard with a height below 0 was never chosen for a victim.
    @Test("entries far below L go when room is needed", arguments: 0..<20)
    func heightsFarBelow(_ round: Int) {
        let engine = CacheEngine<Int, Int>(countLimit: 6000)
        for key in 0..<6000 { engine.setValue(key, forKey: key) }
        var height = 1e3
        for _ in 0..<20 {
            height *= 3 + Double(round) / 7
            engine.forEachShard { shard in
                shard.pointee.raiseInflation(to: height)
                shard.pointee.rebase(by: Float(shard.pointee.inflation - shard.pointee.base).nextDown)
                shard.pointee.publish()
                #expect(shard.pointee.leastHeight(for: .memoryPressure) >= 0)
            }
        }
        engine.trim(toCount: 100)
        #expect(engine.count == 100)
        engine._checkInvariants()
    }

    /// Both of a draw's reads of the limit are in one critical section, so who sets it waits for that.
    @Test("who sets a limit waits for the draws that are under way", arguments: [10, 5000])
    func limitsBesideDraws(_ entries: Int) {
        let engine = CacheEngine<Int, Int>(countLimit: 10_000)
        for key in 0..<entries { engine.setValue(key, forKey: key, cost: 1) }
        let shard = engine.lockShard(KeyHash.hash(0, seed: engine.seed))
        let hasReturned = Atomic<Bool>(false)
        let group = DispatchGroup()
        group.enter()
        Thread.detachNewThread {
            engine.countLimit = 9000
            hasReturned.store(true, ordering: .releasing)
            group.leave()
        }
        let lock = ShardLock(guarding: UnsafeMutableRawPointer(shard))
        failingWhenStuck("a setter sleeps at the shard's lock, or has returned") {
            while lock.sleepers.pointee.load(ordering: .relaxed) == 0, !hasReturned.load(ordering: .acquiring) {
                Thread.sleep(forTimeInterval: 0.001)
            }
        }
        let returnsEarly = hasReturned.load(ordering: .acquiring)
        #expect(!returnsEarly)
        engine.unlock(shard)
        group.wait()
        #expect(engine.count == entries)
    }

    @Test("a key of eight bytes may lie at any address")
    func alignment() {
        let cache = MemoryCache<SmallParts, Int32>()
        for part in Int32(0)..<100 { cache[SmallParts(first: part, second: -part)] = part }
        for part in Int32(0)..<100 { #expect(cache[SmallParts(first: part, second: -part)] == part) }
    }

    @Test("what ends in the present millisecond counts no longer, behind however many that do not")
    func endsWithinOneTick() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(countLimit: 3500, options: .init(clock: clock))
        clock.advance(by: .nanoseconds(1 << 20))
        for key in 0..<1000 { cache.setValue(key, forKey: key, cost: 1, expiresAfter: .nanoseconds(1_000)) }
        for key in 1000..<3500 { cache.setValue(key, forKey: key, cost: 1, expiresAfter: .nanoseconds(500_000)) }
        clock.advance(by: .nanoseconds(2_000))
        #expect(cache.count == 2500 && cache.totalCost == 2500)
        for key in 4000..<4100 { cache.setValue(key, forKey: key, cost: 1, expiresAfter: .seconds(1)) }
        #expect((1000..<3500).allSatisfy(cache.contains), "the dead go before the living")
    }

    @Test("a handler that sets again what has expired, to expire at once")
    func handlerThatRevives() {
        let clock = ManualClock()
        let told = Atomic<Int>(0)
        nonisolated(unsafe) weak var weakCache: MemoryCache<Int, Int>?
        let cache = MemoryCache<Int, Int>(
            options: .init(
                removalHandler: { key, value, cause in
                    guard cause == .expired else { return }
                    told.add(1, ordering: .relaxed)
                    weakCache?.setValue(value, forKey: key, expiresAfter: .zero)
                },
                clock: clock
            )
        )
        weakCache = cache
        for key in 0..<200 { cache.setValue(key, forKey: key, expiresAfter: .seconds(1)) }
        clock.advance(by: .seconds(2))
        failingWhenStuck("a handler that revives what has expired") { _ = cache.count }
        #expect(told.load(ordering: .relaxed) >= 200)
    }

    @Test("in order of use, a cache that has shrunk keeps what was used last", arguments: [1, 3, 10, 50, 200])
    func shrunk(_ limit: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(ordering: .reuse)
        for key in 0..<6000 { engine.setValue(key, forKey: key) }
        engine.removeAll()
        engine.countLimit = limit
        var order: [Int] = []
        for key in 10_000..<12_000 {
            if !order.isEmpty, Bool.random(using: &random) {
                let used = order.remove(at: Int.random(in: 0..<order.count, using: &random))
                #expect(engine.value(forKey: used) == used, "seed \(seed)")
                order.append(used)
            }
            engine.setValue(key, forKey: key)
            order.append(key)
            guard order.count > limit else { continue }
            let victim = order.indices.first { !engine.contains(order[$0]) }
            if victim != 0 { Issue.record("number \(victim ?? -1) of \(limit) went (seed \(seed))") }
            if let victim { order.remove(at: victim) }
        }
        engine._checkInvariants()
    }

    /// The number of entries that were used last, and of those that are left: what was used last of all had been set long
    /// before all that is left.
    @Test(
        "in order of use, every victim of a limit set far lower is among the oldest tenth of what is left",
        arguments: [
            (5_000, 50), (10_000, 100), (20_000, 1_000), (20_000, 2_000), (100_000, 50), (100_000, 1_000),
            (100_000, 10_000),
        ],
        [false, true]
    )
    func setFarLower(_ sizes: (count: Int, limit: Int), afterHammering: Bool) {
        let (count, limit) = sizes
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(ordering: .reuse)
        for key in 0..<count { engine.setValue(key, forKey: key) }
        if afterHammering {
            // As if two objects had been used in turn, hundreds of millions of times: L rises by 32 between two uses.
            for round in 0..<1_000 {
                // After 2³⁶ moves a shard does this by itself.
                if round % 100 == 0 { engine.rebase() }
                engine.raiseInflation(by: 32)
                #expect(engine.value(forKey: count - 2 + round % 2) != nil)
            }
        }
        // By their last use; the older half of those that are looked up last were set by three times the limit before.
        var order = Array(0..<count)
        for _ in 0..<limit {
            let used = order.remove(at: count - 1 - Int.random(in: 0..<min(count, 4 * limit), using: &random))
            #expect(engine.value(forKey: used) == used)
            order.append(used)
        }
        var place = [Int](repeating: 0, count: count)
        for (index, key) in order.enumerated() { place[key] = index }
        // How many are left of each so many places (a Fenwick tree).
        var left = [Int](repeating: 0, count: count + 1)
        func add(_ number: Int, at index: Int) {
            var index = index + 1
            while index <= count {
                left[index] += number
                index += index & -index
            }
        }
        func older(than index: Int) -> Int {
            var (index, sum) = (index, 0)
            while index > 0 {
                sum += left[index]
                index -= index & -index
            }
            return sum
        }
        for index in 0..<count { add(1, at: index) }
        var (held, worst) = (count, 0.0)
        engine.removalObserver = { gone, _, _ in
            worst = max(worst, Double(older(than: place[gone])) / Double(held))
            add(-1, at: place[gone])
            held -= 1
        }
        engine.countLimit = limit
        #expect(held == limit && engine.count == limit)
        // Then only of what was used last.
        engine.countLimit = limit / 10
        #expect(held == limit / 10)
        engine._checkInvariants()
        #expect(worst <= 0.1, "\(worst) of the entries were older (seed \(seed))")
    }

    /// Where threads have waited for each other, L rises by several moves at a time. All shards know how far it has
    /// risen: what is used last of all stands highest.
    @Test("in order of use, what is used last stays, also when threads have waited", arguments: [100, 1_000])
    func setFarLowerAfterWaiting(_ limit: Int) {
        let engine = CacheEngine<Int, Int>(ordering: .reuse)
        for key in 0..<100_000 { engine.setValue(key, forKey: key) }
        for index in 0..<engine.shardCount {
            guard let shard = engine.lockShard(at: index) else { continue }
            // No multiple of what is raised at a time: the next moves of this shard raise nothing.
            shard.pointee.contendedMoves = 255
            engine.unlock(shard)
        }
        // Set ten times the limit before.
        let last = (0..<limit / 10).map { 100_000 - 10 * limit - $0 }
        for key in 100_000 - 5 * limit..<100_000 { #expect(engine.value(forKey: key) == key) }
        for key in last { #expect(engine.value(forKey: key) == key) }
        engine.countLimit = limit
        let left = last.count { engine.contains($0) }
        #expect(left == last.count)
    }

    @Test(
        "in order of use, every victim of a large cache is among the oldest tenth",
        arguments: [5000, 8000, 20_000],
        [false, true]
    )
    func oldestTenth(_ limit: Int, afterWaiting: Bool) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let engine = CacheEngine<Int, Int>(countLimit: limit, ordering: .reuse)
        // Keys in order of their last use, as the moments of those uses.
        var lastUse: [Int: Int] = [:]
        var worst = 0
        for step in 0..<4 * limit {
            if afterWaiting, step % 32 == 0 {
                // As if threads had waited for each shard all the time.
                for index in 0..<engine.shardCount {
                    guard let shard = engine.lockShard(at: index) else { continue }
                    shard.pointee.contendedMoves = 256
                    engine.unlock(shard)
                }
            }
            for _ in 0..<2 {
                let used = step - 1 - Int.random(in: 0..<limit, using: &random)
                if engine.value(forKey: used) != nil { lastUse[used] = step }
            }
            lastUse[step] = step
            engine.removalObserver = { gone, _, _ in
                // Counting is slow: of the first victims, and of each hundredth, it is asked how many are older.
                let use = lastUse.removeValue(forKey: gone) ?? 0
                if step < limit + 100 || step % 100 == 0 { worst = max(worst, lastUse.values.count { $0 < use }) }
            }
            engine.setValue(step, forKey: step)
        }
        #expect(worst <= limit / 10, "one of number \(worst) went (seed \(seed))")
    }
}
