//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation
import MemoryCaching

let keyCount = 100_000
let requestCount = 1 << 20
let rounds = 15

/// Keys drawn from a Zipf distribution (Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD
/// 1994), scattered so that popular ones are not neighbours.
func zipfianKeys() -> [UInt64] {
    let theta = 0.99
    func power(_ base: Double, _ exponent: Double) -> Double { exp(exponent * log(base)) }
    let zeta = (1...keyCount).reduce(0.0) { $0 + power(Double($1), -theta) }
    let (alpha, zeta2) = (1 / (1 - theta), 1 + power(0.5, theta))
    let eta = (1 - power(2 / Double(keyCount), 1 - theta)) / (1 - zeta2 / zeta)
    var state: UInt64 = 42
    return (0..<requestCount).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let uniform = Double(state >> 11) / Double(1 << 53)
        let scaled = uniform * zeta
        let rank =
            scaled < 1 ? 0 : scaled < zeta2 ? 1 : Int(Double(keyCount) * power(eta * uniform - eta + 1, alpha))
        return UInt64(min(rank, keyCount - 1)) &* 0x9E37_79B9_7F4A_7C15
    }
}

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
        let requests = zipfianKeys()
        let cache = MemoryCache<UInt64, UInt64>(countLimit: keyCount)
        for rank in 0..<UInt64(keyCount) { cache[rank &* 0x9E37_79B9_7F4A_7C15] = rank + 1 }
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
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        let base = median(plain)
        for (name, values) in [
            ("value(forKey:)", plain), ("value(forKey:load:)", loading), ("value(forKey:load:), throwing", throwing),
        ] {
            let value = median(values)
            let padding = String(repeating: " ", count: 32 - name.count)
            print("\(name)\(padding)\((value * 10).rounded() / 10) ns a hit, × \((value / base * 100).rounded() / 100)")
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
