//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import MemoryCaching
import TieredCaching

/// What coherence costs a near hit: the same keys through `MemoryCache`, with and without a lifetime, and through a
/// near cache, in interleaved rounds of one run.
@main
struct TierBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tier-bench",
        abstract: "Compares a hit in a near cache with a hit in MemoryCache."
    )

    @Option(help: "Keys, all of them present.") var keys = 100_000
    @Option(help: "Hits of each round.") var hits = 2_000_000
    @Option(help: "Rounds; the median of their ratios is printed.") var rounds = 9

    func run() async throws {
        let plain = MemoryCache<Int, UInt64>()
        let lived = MemoryCache<Int, UInt64>(options: .init(expiresAfter: .seconds(3600)))
        let server = InProcessServer()
        let near = TieredCache<Int, UInt64>(
            name: "bench",
            remote: server.makeTier(),
            codec: TrivialCodec<UInt64>(),
            options: TieredCacheOptions(lifetime: .seconds(3600))
        )
        while !near.isCoherent { await Task.yield() }
        for key in 0..<keys {
            plain[key] = UInt64(key)
            lived[key] = UInt64(key)
            _ = try await near.value(forKey: key) { UInt64(key) }
        }
        var generator = SystemRandomNumberGenerator()
        let order = (0..<1 << 16).map { _ in Int.random(in: 0..<keys, using: &generator) }
        var times: [[Double]] = [[], [], []]
        for _ in 0..<rounds {
            times[0].append(time(order) { plain.value(forKey: $0) })
            times[1].append(time(order) { lived.value(forKey: $0) })
            times[2].append(time(order) { near.nearValue(forKey: $0) })
        }
        for (name, of) in zip(["MemoryCache", "MemoryCache with a lifetime", "near"], times) {
            print("\(name): \(of.median) ns")
        }
        for (name, index) in [("MemoryCache", 0), ("MemoryCache with a lifetime", 1)] {
            let ratios = zip(times[2], times[index]).map(/).sorted()
            print("near / \(name): \(ratios[rounds / 2]) (\(ratios[0]) to \(ratios[rounds - 1]))")
        }
    }

    /// Nanoseconds for each hit.
    @inline(__always)
    private func time(_ order: [Int], _ lookup: (Int) -> UInt64?) -> Double {
        var (sum, misses) = (0 as UInt64, 0)
        let begun = ContinuousClock.now
        for index in 0..<hits {
            if let value = lookup(order[index & (order.count - 1)]) { sum &+= value } else { misses += 1 }
        }
        let duration = begun.duration(to: .now) / .nanoseconds(1)
        precondition(misses == 0 && sum > 0)
        return duration / Double(hits)
    }
}
