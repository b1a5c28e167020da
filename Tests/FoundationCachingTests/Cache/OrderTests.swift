//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import Testing
import _CacheTestSupport

/// Who goes: what was used least recently, exactly so in a small cache, and about so in one that has been large.
@Suite struct OrderTests {
    /// How a cache that has been large becomes small.
    enum Shrinking: CaseIterable { case limit, steps, removal }

    /// A cache, and when each of its objects was used last.
    private final class Model {
        let cache = NSCache<NSNumber, Token>()
        let recorder = Recorder()
        var uses: [Int: Int] = [:]
        private var now = 0

        init() { cache.delegate = recorder }

        func set(_ number: Int, cost: Int) {
            cache.setObject(Token(number), forKey: NSNumber(value: number), cost: cost)
            use(number)
        }

        func get(_ number: Int) {
            if cache.object(forKey: NSNumber(value: number)) != nil { use(number) }
        }

        /// Those that have left since the last time, each with how many were older, of how many.
        func victims() -> [(older: Int, of: Int)] {
            defer { recorder.forget() }
            return recorder.numbers.map { number in
                let use = uses.removeValue(forKey: number)!
                return (uses.values.count { $0 < use }, uses.count + 1)
            }
        }

        /// Takes what has left out without asking how old it was.
        func forgetVictims() {
            for number in recorder.numbers { uses[number] = nil }
            recorder.forget()
        }

        private func use(_ number: Int) {
            uses[number] = now
            now += 1
        }
    }

    @Test(
        "what was large evicts one of the oldest tenth when it is small",
        arguments: Shrinking.allCases,
        [(4097, 100), (20_000, 100), (20_000, 1000), (100_000, 50)]
    )
    func afterShrinking(_ shrinking: Shrinking, sizes: (peak: Int, limit: Int)) {
        let seed = UInt64.random(in: 1...UInt64.max)
        var random = SplitMix64(seed: seed)
        for (isCost, hits) in [(false, 0), (true, 1)] {
            let model = Model()
            let (peak, limit) = sizes
            func setLimit(_ limit: Int) {
                if isCost { model.cache.totalCostLimit = limit } else { model.cache.countLimit = limit }
            }
            for number in 0..<peak { model.set(number, cost: 1) }
            switch shrinking {
            case .limit: break
            case .steps: for part in 1..<20 { setLimit(max(limit, peak - peak / 20 * part)) }
            case .removal:
                for number in 0..<peak - limit {
                    model.cache.removeObject(forKey: NSNumber(value: number))
                }
            }
            setLimit(limit)
            model.forgetVictims()
            #expect(model.uses.count == limit)
            var late = 0
            for number in peak..<peak + 3 * limit {
                for _ in 0..<hits { model.get(Int.random(in: number - limit..<number, using: &random)) }
                model.set(number, cost: 1)
                for victim in model.victims() where victim.older * 10 > victim.of { late += 1 }
            }
            #expect(late == 0, "\(late) of \(3 * limit), by cost: \(isCost), seed \(seed)")
        }
    }

    @Test("objects that cost nothing and others are in one order of use, where their number is limited")
    func costlessAndCostly() {
        // All sequences of: a new object of cost 0, one of cost 1, a use of the oldest, and another cost for the oldest.
        let length = 6
        for limit in 2...3 {
            for code in 0..<1 << (2 * length) {
                let cache = NSCache<NSNumber, NSNumber>()
                cache.countLimit = limit
                var model: [(key: Int, cost: Int)] = []
                for step in 0..<length {
                    switch code >> (2 * step) & 3 {
                    case 2 where !model.isEmpty:
                        model.append(model.removeFirst())
                        _ = cache.object(forKey: NSNumber(value: model.last!.key))
                    case 3 where !model.isEmpty:
                        let (key, cost) = model.removeFirst()
                        model.append((key, 1 - cost))
                        cache.setObject(1, forKey: NSNumber(value: key), cost: 1 - cost)
                    case let cost:
                        model.append((step, cost & 1))
                        cache.setObject(1, forKey: NSNumber(value: step), cost: cost & 1)
                        if model.count > limit { model.removeFirst() }
                    }
                }
                for key in 0..<length {
                    let isThere = cache.object(forKey: NSNumber(value: key)) != nil
                    if isThere != model.contains(where: { $0.key == key }) {
                        Issue.record("limit \(limit), sequence \(code): \(model), and key \(key) \(isThere)")
                        return
                    }
                }
            }
        }
    }
}
