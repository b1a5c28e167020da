//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// The contract as a dictionary: what the engine holds is what was set, less what it said has left.
///
/// The model does not predict victims. It checks every promise that does not depend on them: the newcomer is in, limits
/// hold after every call, every departure is told once with the value that was there, and totals are exact.
private final class Model {
    var entries: [Int: (value: Int, cost: Int)] = [:]
    var problems: [String] = []
    /// Values that were told of though they were never in: newcomers refused.
    var refused: [Int] = []
    var newcomer: Int?

    func departed(_ key: Int, _ value: Int, _ cause: RemovalCause) {
        if value == newcomer, cause == .costLimit {
            refused.append(value)
            return
        }
        guard let entry = entries.removeValue(forKey: key) else {
            problems.append("\(key) left for \(cause) though it was not there")
            return
        }
        if entry.value != value { problems.append("\(key) left with \(value) instead of \(entry.value)") }
    }
}

@Suite("Engine: a naive model of the contract")
struct EngineModelTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var ordering: CacheOrdering
        var countLimit = 0
        var costLimit = 0
        var keys = 40
        var testDescription: String { "\(ordering), count \(countLimit), cost \(costLimit), \(keys) keys" }
    }

    static let cases: [Case] = [
        Case(ordering: .worth), Case(ordering: .reuse),
        Case(ordering: .worth, countLimit: 1), Case(ordering: .reuse, countLimit: 1),
        Case(ordering: .worth, countLimit: 10), Case(ordering: .reuse, countLimit: 10),
        Case(ordering: .worth, costLimit: 100), Case(ordering: .reuse, costLimit: 100),
        Case(ordering: .worth, countLimit: 12, costLimit: 150), Case(ordering: .reuse, countLimit: 12, costLimit: 150),
        Case(ordering: .worth, countLimit: 6000, keys: 9000), Case(ordering: .reuse, costLimit: 90_000, keys: 9000),
    ]

    @Test("random operations keep every promise", arguments: cases)
    func randomOperations(_ parameters: Case) {
        let seed = UInt64.random(in: 1 ... .max)
        var random = SplitMix64(seed: seed)
        let model = Model()
        let engine = CacheEngine<Int, Int>(
            countLimit: parameters.countLimit,
            totalCostLimit: parameters.costLimit,
            ordering: parameters.ordering
        )
        engine.removalObserver = { model.departed($0, $1, $2) }
        let rounds = parameters.keys > 1000 ? 15_000 : 4_000
        var refusals = 0
        for round in 0..<rounds {
            // From here on lookups take no lock, where the order allows that.
            if round == rounds / 4 { engine.admitReader() }
            let key = Int.random(in: 0..<parameters.keys, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let cost = Int.random(in: -2...24, using: &random)
                let limit = engine.totalCostLimit
                // The observer tells of the old value before the call returns.
                let old = model.entries[key]
                (model.newcomer, model.refused) = (round, [])
                let isStored = engine.setValue(round, forKey: key, cost: cost)
                model.newcomer = nil
                let isTooLarge = limit > 0 && cost > limit
                if isTooLarge { #expect(!isStored) }
                if parameters.ordering == .reuse || limit <= 0 || old != nil {
                    #expect(isStored == !isTooLarge, "what replaces is never refused for its worth (seed \(seed))")
                }
                #expect(model.refused == (isStored ? [] : [round]), "told once of a refusal (seed \(seed))")
                if !isStored {
                    refusals += 1
                    #expect(model.entries[key] == nil && !engine.contains(key), "seed \(seed)")
                    continue
                }
                if old != nil, model.entries[key] != nil { model.problems.append("replacing \(key) told nobody") }
                model.entries[key] = (round, max(0, cost))
                #expect(engine.contains(key), "the newcomer is in (seed \(seed))")
            case 45..<85:
                #expect(engine.value(forKey: key) == model.entries[key]?.value, "seed \(seed), round \(round)")
            case 85..<93:
                let expected = model.entries[key]?.value
                #expect(engine.removeValue(forKey: key) == expected, "seed \(seed), round \(round)")
            case 93..<97:
                #expect(engine.contains(key) == (model.entries[key] != nil))
            case 97:
                let bound = Int.random(in: 0...max(1, model.entries.count), using: &random)
                engine.trim(toCount: max(bound, model.entries.count - 20))
            case 98:
                engine.trim(toCost: max(0, engine.totalCost - Int.random(in: 0..<40, using: &random)))
            default:
                if round % 50 == 0 { engine.removeAll() }
            }
            let cost = engine.totalCost
            if parameters.countLimit > 0 { #expect(engine.count <= parameters.countLimit) }
            if parameters.costLimit > 0 { #expect(cost <= parameters.costLimit) }
            if round % (parameters.keys > 1000 ? 2_000 : 100) == 0 {
                #expect(engine.count == model.entries.count, "seed \(seed), round \(round)")
                #expect(cost == model.entries.values.reduce(0) { $0 + $1.cost }, "seed \(seed), round \(round)")
                engine._checkInvariants()
            }
        }
        #expect(model.problems.isEmpty, "seed \(seed)")
        let held = Dictionary(uniqueKeysWithValues: engine.snapshot().map { ($0.key, $0.value) })
        #expect(held == model.entries.mapValues(\.value), "seed \(seed)")
        let statistics = engine.statistics
        let removed = RemovalCause.allCases.reduce(0) { $0 + statistics.removals($1) }
        #expect(statistics.insertions - removed == engine.count)
        #expect(statistics.refusals == refusals)
    }

    @Test("every sequence of four operations on three keys, with room for two, in exact order of use")
    func exhaustiveReuse() {
        // Operation 3 × kind + key; kinds: set, get, remove.
        for sequence in 0..<6_561 {
            let engine = CacheEngine<Int, Int>(countLimit: 2, ordering: .reuse)
            var recency: [Int] = []
            var rest = sequence
            for _ in 0..<4 {
                let (operation, key) = (rest % 9 / 3, rest % 3)
                rest /= 9
                switch operation {
                case 0:
                    engine.setValue(key, forKey: key)
                    recency.removeAll { $0 == key }
                    recency.append(key)
                    if recency.count > 2 { recency.removeFirst() }
                case 1:
                    let isThere = engine.value(forKey: key) != nil
                    if isThere != recency.contains(key) { Issue.record("sequence \(sequence)") }
                    if isThere {
                        recency.removeAll { $0 == key }
                        recency.append(key)
                    }
                default:
                    engine.removeValue(forKey: key)
                    recency.removeAll { $0 == key }
                }
                if engine.coldestKeys(.max) != recency { Issue.record("sequence \(sequence)") }
            }
            engine._checkInvariants()
        }
    }

    @Test("every sequence of four operations on three keys by worth keeps the promises")
    func exhaustiveWorth() {
        for sequence in 0..<6_561 {
            let engine = CacheEngine<Int, Int>(countLimit: 2, totalCostLimit: 5)
            var held: [Int: Int] = [:]
            engine.removalObserver = { key, _, _ in held[key] = nil }
            var refusals = 0
            var rest = sequence
            for _ in 0..<4 {
                let (operation, key) = (rest % 9 / 3, rest % 3)
                rest /= 9
                switch operation {
                case 0:
                    let wasThere = held[key] != nil
                    let isStored = engine.setValue(key, forKey: key, cost: key + 1)
                    if isStored { held[key] = key + 1 } else { refusals += 1 }
                    if wasThere, !isStored { Issue.record("sequence \(sequence): a replacement is refused") }
                    if engine.contains(key) != isStored { Issue.record("sequence \(sequence): the newcomer is out") }
                case 1:
                    if (engine.value(forKey: key) != nil) != (held[key] != nil) { Issue.record("sequence \(sequence)") }
                default:
                    let isThere = held[key] != nil
                    if (engine.removeValue(forKey: key) != nil) != isThere { Issue.record("sequence \(sequence)") }
                    if held[key] != nil { Issue.record("sequence \(sequence): the observer was not told") }
                }
                if engine.count != held.count || engine.totalCost != held.values.reduce(0, +) || engine.count > 2
                    || engine.totalCost > 5
                {
                    Issue.record("sequence \(sequence)")
                }
            }
            if engine.statistics.refusals != refusals { Issue.record("sequence \(sequence)") }
            engine._checkInvariants()
        }
    }
}

extension CacheEngine {
    /// All keys and values, as they stand in the shards; no use of them.
    fileprivate func snapshot() -> [(key: Key, value: Value)] {
        var all: [(key: Key, value: Value)] = []
        forEachShard { shard in
            let storage = shard.pointee.storage
            storage.forEachSlot { all.append((storage.entries[Int($0)].key, storage.entries[Int($0)].value)) }
        }
        return all
    }
}
