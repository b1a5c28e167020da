//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import CacheSimulation
import MemoryCaching

/// The hit ratio of a full cache in a container, beside a CLOCK cache of ordinary memory with a given budget.
struct HitRatio: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Compares hit ratios under a memory limit, Zipf traffic.")

    @Option(help: "Different keys.") var keys = 500_000
    @Option(help: "Bytes of a value.") var size = 1000
    @Option(help: "Skew of the Zipf distribution.") var skew = 0.8
    @Option(help: "Lookups; the second half counts.") var lookups = 6_000_000
    @Option(help: "MiB of values that the CLOCK cache may hold, its own overhead not counted.") var budget = 235

    func run() {
        // First, so that the other's memory is not in the container yet.
        print("PurgeableCache in \(Fill.limitInWords): \(purgeableRatio())")
        let clock = ClockCache(capacity: (budget << 20) / size)
        let clockRatio = ratio(find: { clock.find($0) }, insert: { clock.insert($0) })
        print("CLOCK, ordinary memory, \(budget) MiB of values: \(clockRatio)")
    }

    private func purgeableRatio() -> Double {
        let cache = PurgeableCache<UInt64>()
        let payload = [UInt8](repeating: 7, count: size)
        var wrong = 0
        let ratio = ratio(
            find: { key in
                guard let bytes = cache.bytes(forKey: key) else { return false }
                if bytes != payload { wrong += 1 }
                return true
            },
            insert: { cache.setBytes(payload, forKey: $0) }
        )
        print(cache.statistics)
        print("wrong: \(wrong)")
        return ratio
    }

    private func ratio(find: (UInt64) -> Bool, insert: (UInt64) -> Void) -> Double {
        var hits = 0
        for (lookup, rank) in ZipfRanks(keys: keys, exponent: skew, seed: 3).prefix(lookups).enumerated() {
            let key = SeededGenerator.mix(UInt64(rank))
            if find(key) { hits += lookup * 2 >= lookups ? 1 : 0 } else { insert(key) }
        }
        return Double(hits) / Double(lookups - lookups / 2)
    }
}

/// CLOCK over keys alone: what it would hit does not depend on the bytes.
final class ClockCache {
    private let capacity: Int
    private var places: [UInt64: Int] = [:]
    private var keys: [UInt64] = []
    private var referenced: [Bool] = []
    private var hand = 0

    init(capacity: Int) { self.capacity = capacity }

    func find(_ key: UInt64) -> Bool {
        guard let place = places[key] else { return false }
        referenced[place] = true
        return true
    }

    func insert(_ key: UInt64) {
        guard keys.count == capacity else {
            places[key] = keys.count
            keys.append(key)
            referenced.append(false)
            return
        }
        while referenced[hand] {
            referenced[hand] = false
            hand = (hand + 1) % capacity
        }
        places[keys[hand]] = nil
        places[key] = hand
        keys[hand] = key
        hand = (hand + 1) % capacity
    }
}
