//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Counts its living instances, and runs code when one dies.
private final class Tracked {
    let counter: Counter
    let onDeinit: () -> Void

    init(_ counter: Counter, onDeinit: @escaping () -> Void = {}) {
        self.counter = counter
        self.onDeinit = onDeinit
        counter.living += 1
    }

    deinit {
        counter.living -= 1
        onDeinit()
    }
}

private final class Counter { var living = 0 }

/// A key of a class, whose identity can be changed behind the cache's back.
private final class MutableKey: Hashable {
    var name: Int
    let counter: Counter?
    init(_ name: Int, _ counter: Counter? = nil) {
        self.name = name
        self.counter = counter
        counter?.living += 1
    }
    deinit { counter?.living -= 1 }
    static func == (left: MutableKey, right: MutableKey) -> Bool { left.name == right.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// All equal hashes, and code run by `==` and by hashing.
private struct Colliding: Hashable {
    var name: Int
    nonisolated(unsafe) static var onCompare: (() -> Void)?
    nonisolated(unsafe) static var onHash: (() -> Void)?

    static func == (left: Self, right: Self) -> Bool {
        onCompare?()
        return left.name == right.name
    }
    func hash(into hasher: inout Hasher) {
        Self.onHash?()
        hasher.combine(1)
    }
}

@Suite("Engine: other people's code", .serialized)
struct EngineReentrancyTests {
    @Test("keys and values are let go of, each in its time")
    func leaks() {
        let (keys, values) = (Counter(), Counter())
        do {
            let engine = CacheEngine<MutableKey, Tracked>(countLimit: 10)
            for name in 0..<100 { engine.setValue(Tracked(values), forKey: MutableKey(name, keys)) }
            #expect(keys.living == 10 && values.living == 10)
            engine.setValue(Tracked(values), forKey: MutableKey(99, keys))
            #expect(values.living == 10 && keys.living == 10)
            _ = engine.removeValue(forKey: MutableKey(99, keys))
            #expect(keys.living == 9 && values.living == 9)
            engine.trim(toCount: 5)
            #expect(keys.living == 5 && values.living == 5)
            engine.removeAll()
            #expect(keys.living == 0 && values.living == 0)
            for name in 0..<10_000 {
                engine.countLimit = 0
                engine.setValue(Tracked(values), forKey: MutableKey(name, keys))
            }
            #expect(keys.living == 10_000 && values.living == 10_000)
            engine._checkInvariants()
        }
        #expect(keys.living == 0 && values.living == 0)
    }

    @Test("a million entries go one after the other, not one inside the other")
    func teardown() {
        final class Node {
            var next: Node?
        }
        var engine: CacheEngine<Int, Node>? = CacheEngine()
        for key in 0..<1_000_000 { engine!.setValue(Node(), forKey: key) }
        #expect(engine!.count == 1_000_000)
        engine = nil
    }

    @Test("a value's deinit may use the cache, whatever made it die")
    func deinitialisers() {
        let counter = Counter()
        let engine = CacheEngine<Int, Tracked>(countLimit: 3)
        func value() -> Tracked {
            Tracked(counter) { [unowned engine] in
                _ = engine.value(forKey: 1)
                engine.removeValue(forKey: 2)
                _ = engine.count
            }
        }
        for key in 0..<20 { engine.setValue(value(), forKey: key) }
        engine.setValue(value(), forKey: 19)
        engine.removeValue(forKey: 19)
        engine.removeAll()
        #expect(counter.living == 0)
        engine._checkInvariants()
    }

    @Test("a removal observer may use the cache")
    func observers() {
        let engine = CacheEngine<Int, Int>(countLimit: 3)
        var depth = 0
        engine.removalObserver = { [unowned engine] key, value, cause in
            #expect(!engine.contains(key) || cause == .replaced)
            depth += 1
            defer { depth -= 1 }
            if depth < 3 { engine.setValue(value, forKey: key + 100) }
        }
        for key in 0..<50 { engine.setValue(key, forKey: key) }
        #expect(engine.count == 3)
        engine.removalObserver = nil
        engine._checkInvariants()
    }

    @Test("an == and a hash that use the cache neither deadlock nor disturb it")
    func comparisons() {
        let engine = CacheEngine<Colliding, Int>(countLimit: 20)
        var depth = 0
        func meddle() {
            guard depth == 0 else { return }
            depth = 1
            defer { depth = 0 }
            _ = engine.value(forKey: Colliding(name: 3))
            engine.setValue(3, forKey: Colliding(name: 3))
            engine.removeValue(forKey: Colliding(name: 4))
        }
        Colliding.onCompare = meddle
        Colliding.onHash = meddle
        defer {
            Colliding.onCompare = nil
            Colliding.onHash = nil
        }
        for name in 0..<30 {
            engine.setValue(name, forKey: Colliding(name: name))
            _ = engine.value(forKey: Colliding(name: name))
            _ = engine.contains(Colliding(name: name / 2))
        }
        #expect(engine.count <= 20)
        engine._checkInvariants()
    }

    @Test("keys of equal hashes are told apart")
    func collisions() {
        let engine = CacheEngine<Colliding, Int>()
        for name in 0..<200 { engine.setValue(name, forKey: Colliding(name: name)) }
        for name in 0..<200 { #expect(engine.value(forKey: Colliding(name: name)) == name) }
        #expect(engine.value(forKey: Colliding(name: 200)) == nil)
        for name in stride(from: 0, to: 200, by: 2) {
            #expect(engine.removeValue(forKey: Colliding(name: name)) == name)
        }
        for name in 0..<200 { #expect(engine.contains(Colliding(name: name)) == (name % 2 == 1)) }
        engine._checkInvariants()
    }

    @Test("keys changed behind the cache's back do not poison it")
    func mutatedKeys() {
        let counter = Counter()
        let engine = CacheEngine<MutableKey, Tracked>(countLimit: 50)
        let keys = (0..<100).map { MutableKey($0) }
        for key in keys { engine.setValue(Tracked(counter), forKey: key) }
        for key in keys { key.name += 1000 }
        for name in 0..<200 {
            engine.setValue(Tracked(counter), forKey: MutableKey(name + 5000))
            #expect(engine.contains(MutableKey(name + 5000)))
        }
        #expect(engine.count == 50 && counter.living == 50)
        engine._checkInvariants()
        engine.removeAll()
        #expect(counter.living == 0)
    }

    @Test("a key mutated and restored is found again")
    func restoredKey() {
        let engine = CacheEngine<MutableKey, Int>()
        let key = MutableKey(1)
        engine.setValue(7, forKey: key)
        key.name = 2
        #expect(engine.value(forKey: MutableKey(2)) == nil)
        key.name = 1
        #expect(engine.value(forKey: MutableKey(1)) == 7)
    }
}

/// A value whose content can be discarded, by hand.
private final class Discardable {
    var isDiscarded = false
    var isPinned = false
    /// What asking whether it is discarded does.
    nonisolated(unsafe) static var onAsking: (() -> Void)?
    func discard() { if !isPinned { isDiscarded = true } }

    static let hooks = ContentHooks<Discardable>(
        isDiscardable: { _ in true },
        isDiscarded: {
            onAsking?()
            return $0.isDiscarded
        },
        discardIfPossible: { $0.discard() },
        isIdentical: { $0 === $1 }
    )
}

@Suite("Engine: discardable content", .serialized)
struct EngineDiscardingTests {
    @Test("dead values are found at lookup, counted as misses and told as discarded")
    func lookup() {
        let engine = CacheEngine<Int, Discardable>(ordering: .reuse, hooks: Discardable.hooks)
        var causes: [RemovalCause] = []
        engine.removalObserver = { _, _, cause in causes.append(cause) }
        let value = Discardable()
        engine.setValue(value, forKey: 1)
        #expect(engine.value(forKey: 1) === value)
        value.discard()
        engine.evictsValuesWithDiscardedContent = false
        #expect(engine.value(forKey: 1) === value)
        engine.evictsValuesWithDiscardedContent = true
        #expect(engine.value(forKey: 1) == nil)
        #expect(causes == [.discarded])
        #expect(engine.count == 0 && engine.statistics.misses == 1 && engine.statistics.hits == 2)
        engine._checkInvariants()
    }

    @Test("what leaves is discarded, unless it is pinned or set again")
    func departures() {
        let engine = CacheEngine<Int, Discardable>(countLimit: 2, ordering: .reuse, hooks: Discardable.hooks)
        let values = (0..<4).map { _ in Discardable() }
        engine.setValue(values[0], forKey: 0)
        engine.setValue(values[0], forKey: 0)
        #expect(!values[0].isDiscarded)
        values[1].isPinned = true
        engine.setValue(values[1], forKey: 1)
        engine.setValue(values[2], forKey: 2)
        engine.setValue(values[3], forKey: 3)
        #expect(values.map(\.isDiscarded) == [true, false, false, false])
        engine.removeAll()
        #expect(values.map(\.isDiscarded) == [true, false, true, true])
    }

    @Test("the dead make room before the living are evicted")
    func pruning() {
        let engine = CacheEngine<Int, Discardable>(countLimit: 3, ordering: .reuse, hooks: Discardable.hooks)
        let values = (0..<4).map { _ in Discardable() }
        for key in 0..<3 { engine.setValue(values[key], forKey: key) }
        values[2].discard()
        engine.setValue(values[3], forKey: 3)
        #expect(engine.contains(0) && engine.contains(1) && !engine.contains(2) && engine.contains(3))
        values[0].discard()
        engine.trim(toCount: 2)
        #expect(engine.contains(1) && engine.contains(3))
    }

    @Test("a search that splits overtake passes over nothing", arguments: [4_000, 6_000])
    func overtakenSearch(count: Int) {
        let engine = CacheEngine<Int, Discardable>(hooks: Discardable.hooks)
        let old = (0..<count).map { _ in Discardable() }
        for key in old.indices { engine.setValue(old[key], forKey: key) }
        let shardCount = engine.shardCount
        // On a small machine the first split is the last.
        if shardCount == CacheEngine<Int, Int>.mostShardCount { return }
        var met = Set<ObjectIdentifier>()
        var next = old.count
        engine.forEachDiscardable { entry in
            met.insert(ObjectIdentifier(entry.value))
            // From the middle on, each step brings the split nearer.
            for _ in 0..<60 where met.count > 3_000 && engine.shardCount == shardCount {
                engine.setValue(Discardable(), forKey: next)
                next += 1
            }
        }
        #expect(engine.shardCount > shardCount)
        #expect(old.allSatisfy { met.contains(ObjectIdentifier($0)) })
    }

    @Test("the dead make room at each insertion into a small cache, wherever the search stands")
    func pruningInTurn() {
        let engine = CacheEngine<Int, Discardable>(countLimit: 8, ordering: .reuse, hooks: Discardable.hooks)
        let values = (0..<60).map { _ in Discardable() }
        for key in 0..<8 { engine.setValue(values[key], forKey: key) }
        for key in 8..<60 {
            // The newest dies, and the rest must stay.
            values[key - 1].discard()
            engine.setValue(values[key], forKey: key)
            #expect((0..<7).allSatisfy { engine.contains($0) } && engine.contains(key))
        }
    }

    @Test("asking whether content is gone may use the cache, which then does not ask", arguments: [false, true])
    func asking(trims: Bool) {
        let engine = CacheEngine<Int, Discardable>(countLimit: 8, ordering: .reuse, hooks: Discardable.hooks)
        let values = (0..<9).map { _ in Discardable() }
        for key in 0..<8 { engine.setValue(values[key], forKey: key) }
        values[3].discard()
        var (calls, depth, deepest) = (0, 0, 0)
        Discardable.onAsking = {
            calls += 1
            depth += 1
            deepest = max(deepest, depth)
            if trims { engine.trim(toCount: 8) } else { engine.setValue(values[0], forKey: 100 + calls) }
            depth -= 1
        }
        defer { Discardable.onAsking = nil }
        engine.setValue(values[8], forKey: 8)
        #expect(deepest == 1 && calls <= 64)
        #expect(engine.contains(8) && engine.count == 8)
        Discardable.onAsking = nil
    }

    @Test("under pressure unused content goes first")
    func pressure() {
        let engine = CacheEngine<Int, Discardable>(hooks: Discardable.hooks)
        let values = (0..<10).map { _ in Discardable() }
        for key in 0..<10 {
            values[key].isPinned = key < 4
            engine.setValue(values[key], forKey: key, cost: 100)
        }
        #expect(engine.discardUnusedContent() == 600)
        #expect(engine.count == 4 && engine.totalCost == 400)
        #expect(engine.evict(bytes: 150, below: .infinity) == 200)
        #expect(engine.statistics.removals(.memoryPressure) == 2)
        #expect(engine.evict(bytes: 150, below: 0) == 0)
        #expect(engine.marginalPrice > 0 && engine.marginalPrice < .infinity && engine.reclaimableBytes == 200)
        engine.removeAll()
        #expect(engine.marginalPrice == .infinity)
    }
}
