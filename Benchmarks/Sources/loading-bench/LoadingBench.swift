//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import CacheSimulation
import MemoryCaching

let keyCount = 100_000
let requestCount = 1 << 20
let rounds = 15

/// The key of a rank: scattered, so that popular ones are not neighbours.
func key(_ rank: Int) -> UInt64 { SeededGenerator.mix(UInt64(rank)) }

func nanoseconds(_ body: @Sendable () async -> UInt64) async -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    let sum = await body()
    let elapsed = start.duration(to: clock.now)
    precondition(sum != 0)
    return elapsed / .nanoseconds(1) / Double(requestCount)
}

@main
struct LoadingBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "loading-bench",
        abstract: "Measure what a hit through value(forKey:load:) costs beside value(forKey:).",
        discussion: "100,000 keys, Zipf 0.99, one thread; rounds of both interleaved, medians of \(rounds) rounds."
    )

    func run() async {
        let requests = ZipfRanks(keys: keyCount, exponent: 0.99, seed: 42).prefix(requestCount).map(key)
        let cache = MemoryCache<UInt64, UInt64>(countLimit: keyCount)
        for rank in 0..<keyCount { cache[key(rank)] = UInt64(rank) + 1 }
        let origin = Origin()

        var plain: [Double] = []
        var loading: [Double] = []
        var throwing: [Double] = []
        for _ in 0..<rounds {
            plain.append(
                await nanoseconds {
                    var sum: UInt64 = 0
                    for key in requests { sum &+= cache.value(forKey: key) ?? 0 }
                    return sum
                }
            )
            loading.append(
                await nanoseconds {
                    var sum: UInt64 = 0
                    for key in requests { sum &+= await cache.value(forKey: key) { await origin.load(key) } }
                    return sum
                }
            )
            throwing.append(
                await nanoseconds {
                    var sum: UInt64 = 0
                    for key in requests {
                        sum &+= (try? await cache.value(forKey: key) { try await origin.tryLoad(key) }) ?? 0
                    }
                    return sum
                }
            )
        }
        let base = plain.median
        for (name, values) in [
            ("value(forKey:)", plain), ("value(forKey:load:)", loading), ("value(forKey:load:), throwing", throwing),
        ] {
            let value = values.median
            print("\(name.padded(to: 32))\(value.fixed(1)) ns a hit, × \((value / base).fixed())")
        }
        precondition(cache.statistics.loads == 0)
    }
}

/// Something to load from, so that the closures have to capture.
struct Origin: Sendable {
    func load(_ key: UInt64) async -> UInt64 { key }
    func tryLoad(_ key: UInt64) async throws -> UInt64 {
        try Task.checkCancellation()
        return key
    }
}
