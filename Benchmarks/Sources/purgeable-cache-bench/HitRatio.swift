//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import MemoryCaching

/// The hit ratio of a full cache in a container, beside a CLOCK cache of ordinary memory with a given budget.
struct HitRatio: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Compares hit ratios under a memory limit, Zipf traffic.")

    @Option(help: "Different keys.") var keys = 500_000
    @Option(help: "Bytes of a value.") var size = 1000
    @Option(help: "Skew of the Zipf distribution.") var skew = 0.8
    @Option(help: "Lookups; the second half counts.") var lookups = 6_000_000
    @Option(help: "MiB that the container may hold.") var limit = 256
    @Option(help: "MiB of values that the CLOCK cache may hold, its own overhead not counted.") var budget = 235

    func run() throws {
        let traffic = Zipf(keys: keys, skew: skew)
        let clock = ClockCache(capacity: (budget << 20) / size)
        let clockRatio = ratio(traffic, find: { clock.find($0) }, insert: { clock.insert($0) })
        guard let container = Container(limitBytes: limit << 20) else {
            return print("SKIPPED: no writable memory cgroup; CLOCK with \(budget) MiB: \(clockRatio)")
        }
        defer { container.leave() }
        let cache = PurgeableCache<UInt64>()
        let payload = [UInt8](repeating: 7, count: size)
        var wrong = 0
        let purgeableRatio = ratio(
            traffic,
            find: { key in
                guard let bytes = cache.bytes(forKey: key) else { return false }
                if bytes != payload { wrong += 1 }
                return true
            },
            insert: { cache.setBytes(payload, forKey: $0) }
        )
        print("PurgeableCache in \(limit) MiB: \(purgeableRatio), wrong \(wrong)")
        print("CLOCK, ordinary memory, \(budget) MiB of values: \(clockRatio)")
        print(cache.statistics)
    }

    private func ratio(_ traffic: Zipf, find: (UInt64) -> Bool, insert: (UInt64) -> Void) -> Double {
        var numbers = Numbers(state: 3)
        var hits = 0
        for lookup in 0..<lookups {
            let key = traffic.draw(using: &numbers)
            if find(key) { hits += lookup * 2 >= lookups ? 1 : 0 } else { insert(key) }
        }
        return Double(hits) / Double(lookups - lookups / 2)
    }
}

/// Keys drawn with a chance of 1/rank^skew, ranks shuffled over the keys.
struct Zipf {
    private let sums: [Double]
    private let keys: [UInt64]

    init(keys count: Int, skew: Double) {
        var sum = 0.0
        sums = (1...count).map { rank in
            sum += Container.power(Double(rank), -skew)
            return sum
        }
        var numbers = Numbers(state: 11)
        keys = (0..<UInt64(count)).shuffled(using: &numbers)
    }

    func draw(using numbers: inout Numbers) -> UInt64 {
        let wanted = Double(numbers.next() >> 11) / 9_007_199_254_740_992 * sums[sums.count - 1]
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] < wanted { low = middle + 1 } else { high = middle }
        }
        return keys[low]
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
