//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Keys that collide as badly as keys can: a handful of hashes for all of them.
private struct CollidingKey: Hashable, Sendable {
    let number: Int
    func hash(into hasher: inout Hasher) { hasher.combine(number % 3) }
}

/// The cache against a dictionary, from a printed seed. Without pressure nothing is lost, so the two agree exactly.
@Suite struct PurgeableCacheModelTests {
    private func run<Key: Hashable & Sendable>(seed: UInt64, steps: Int, keys: Int, key: (Int) -> Key) {
        var random = SplitMix64(seed: seed)
        let cache = PurgeableCache<Key>()
        var model: [Key: [UInt8]] = [:]
        var hits = 0
        for step in 0..<steps {
            let key = key(Int.random(in: 0..<keys, using: &random))
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<40:
                let count = Int.random(in: 0..<(step % 50 == 0 ? 80_000 : 500), using: &random)
                let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: count)
                cache.setBytes(value, forKey: key)
                model[key] = value
            case 40..<80:
                let bytes = cache.bytes(forKey: key)
                #expect(bytes == model[key], "seed \(seed), step \(step)")
                hits += bytes == nil ? 0 : 1
            case 80..<99:
                #expect(cache.removeBytes(forKey: key) == (model.removeValue(forKey: key) != nil), "seed \(seed)")
            default:
                #expect(cache.count == model.count, "seed \(seed), step \(step)")
                #expect(cache.totalCost == model.values.reduce(0) { $0 + $1.count }, "seed \(seed), step \(step)")
            }
        }
        #expect(cache.statistics.hits == hits, "seed \(seed)")
        for (key, value) in model { #expect(cache.bytes(forKey: key) == value, "seed \(seed)") }
        cache.removeAll()
        #expect(cache.count == 0 && cache.totalCost == 0, "seed \(seed)")
    }

    @Test func integerKeys() {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCacheModelTests.integerKeys: seed \(seed)")
        run(seed: seed, steps: 30_000, keys: 20_000) { $0 }
    }

    @Test func stringKeys() {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCacheModelTests.stringKeys: seed \(seed)")
        run(seed: seed, steps: 20_000, keys: 20_000) { "a key that is too long to be stored inline: \($0)" }
    }

    @Test func collidingKeys() {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCacheModelTests.collidingKeys: seed \(seed)")
        run(seed: seed, steps: 3000, keys: 60) { CollidingKey(number: $0) }
    }
}
