//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Foundation
import Testing

@Suite("Generated traces")
struct TraceGeneratorTests {
    static let patterns: [TraceGenerator.Pattern] = [
        .zipf(exponent: 0.99), .drift(exponent: 0.9, period: 10), .shocks(exponent: 1.2, period: 500),
        .scans(exponent: 1, period: 300, length: 100), .oneHitWonders(exponent: 0.8, share: 0.5),
        .bursts(exponent: 0.8, period: 50, length: 10), .loop,
    ]

    @Test("A seed repeats its trace, another one does not", arguments: patterns)
    func repeats(pattern: TraceGenerator.Pattern) {
        let sizes = TraceGenerator.Sizes.spread(smallest: 10, largest: 1000)
        func keys(_ seed: UInt64) -> [TraceRequest] {
            Array(TraceGenerator(pattern, keys: 100, sizes: sizes, seed: seed).prefix(2000))
        }
        #expect(keys(1) == keys(1))
        #expect(keys(1) != keys(2))
        #expect(keys(1).allSatisfy { (10...1000).contains($0.size) })
    }

    @Test("Ranks follow Zipf's law", arguments: [0, 0.5, 0.99, 1, 1.3])
    func zipf(exponent: Double) {
        let count = 50, samples = 200_000
        var random = SeededGenerator(seed: 7)
        let distribution = ZipfDistribution(count: count, exponent: exponent)
        var seen = [Int](repeating: 0, count: count + 1)
        for _ in 0..<samples { seen[distribution.rank(using: &random)] += 1 }
        let weights = (1...count).map { 1 / power(Double($0), exponent) }
        let total = weights.reduce(0, +)
        for rank in 1...count {
            let expected = weights[rank - 1] / total * Double(samples)
            // Five standard deviations of a Poisson count.
            #expect(abs(Double(seen[rank]) - expected) < 5 * expected.squareRoot() + 1)
        }
    }

    @Test("A Zipf distribution takes a negative exponent as 0 and a count below 1 as 1, and refuses what is no number")
    func zipfLimits() async {
        func ranks(_ count: Int, _ exponent: Double) -> [Int] {
            var random = SeededGenerator(seed: 7)
            let distribution = ZipfDistribution(count: count, exponent: exponent)
            return (0..<1000).map { _ in distribution.rank(using: &random) }
        }
        #expect(ranks(100, -1) == ranks(100, 0))
        #expect(ranks(-3, 1) == ranks(1, 1))
        await #expect(processExitsWith: .failure) { _ = ZipfDistribution(count: 2, exponent: .nan) }
        await #expect(processExitsWith: .failure) { _ = ZipfDistribution(count: 2, exponent: .infinity) }
    }

    private func power(_ base: Double, _ exponent: Double) -> Double {
        pow(base, exponent)
    }

    @Test("A single key is a trace too")
    func singleKey() {
        for pattern in Self.patterns {
            #expect(Array(TraceGenerator(pattern, keys: 1, seed: 3).prefix(100)).count == 100)
        }
    }

    @Test("One-hit wonders come once, and make up their share")
    func oneHitWonders() {
        let requests = TraceGenerator(.oneHitWonders(exponent: 1, share: 0.5), keys: 10, seed: 1).prefix(10_000)
        var counts: [UInt64: Int] = [:]
        for request in requests { counts[request.key, default: 0] += 1 }
        let once = counts.values.count { $0 == 1 }
        #expect((4500...5500).contains(once))
    }
}
