//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport
import CacheSimulation

/// How often each key is asked for.
enum RequestDistribution: String, CaseIterable {
    /// Rank *r* in proportion to 1 / *r*^0.99.
    case zipf
    /// All keys equally often.
    case uniform
}

/// Requests made before any clock runs.
struct Requests: Sendable {
    /// A power of two, so that walking round is a mask; larger than any cache of the processor.
    static let count = 1 << 20

    /// The ranks of the keys, from 0, most popular first.
    let ranks: [UInt32]

    /// Ranks below `keys`.
    init(keys: Int, distribution: RequestDistribution, seed: UInt64) {
        switch distribution {
        case .zipf: ranks = ZipfRanks(keys: keys, exponent: 0.99, seed: seed).prefix(Self.count).map { UInt32($0) }
        case .uniform:
            var random = SeededGenerator(seed: seed)
            ranks = (0..<Self.count).map { _ in UInt32.random(in: 0..<UInt32(keys), using: &random) }
        }
    }

    /// The key of a rank: spread over all 64 bits, so that nobody profits from keys in a row.
    static func key(_ rank: Int) -> UInt64 { SeededGenerator.mix(UInt64(rank) &+ 0x1234_5678) }
}

/// Request streams, made once for all implementations and kinds of keys.
final class RequestStore {
    /// What tells streams apart.
    struct Kind: Hashable {
        let keys: Int
        let distribution: RequestDistribution

        init(_ workload: Workload) {
            keys = workload.keys
            distribution = workload.requests
        }
    }

    /// The most threads that are measured.
    static let mostThreads = 8
    /// How many threads have a stream.
    let count: Int
    private var made: [Kind: [Requests]] = [:]

    /// Streams for so many threads.
    init(threads: Int) { count = threads }

    func streams(for kind: Kind) -> [Requests] {
        if let known = made[kind] { return known }
        let streams = (0..<count).map {
            Requests(keys: kind.keys, distribution: kind.distribution, seed: UInt64(kind.keys + $0))
        }
        made[kind] = streams
        return streams
    }
}
