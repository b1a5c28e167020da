//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport

/// Requests made before any clock runs.
struct Requests: Sendable {
    /// A power of two, so that walking round is a mask; larger than any cache of the processor.
    static let count = 1 << 20

    /// The ranks of the keys, from 0, most popular first.
    let ranks: [UInt32]

    /// Zipf-distributed ranks below `keys`.
    init(keys: Int, seed: UInt64) {
        ranks = ZipfRanks(keys: keys, exponent: 0.99, seed: seed).prefix(Self.count).map { UInt32($0) }
    }

    /// The key of a rank: spread over all 64 bits, so that nobody profits from keys in a row.
    static func key(_ rank: Int) -> UInt64 { SplitMix64.mix(UInt64(rank) &+ 0x1234_5678) }
}
