//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation

/// An endless stream of ranks, from 0, most popular first, in which rank *r* has probability ∝ 1 / (*r* + 1)^exponent.
public struct ZipfRanks: Sequence, IteratorProtocol {
    private let distribution: ZipfDistribution
    private var random: SeededGenerator

    /// Ranks below `keys`, repeating from `seed`.
    public init(keys: Int, exponent: Double, seed: UInt64) {
        distribution = ZipfDistribution(count: keys, exponent: exponent)
        random = SeededGenerator(seed: seed)
    }

    /// The next rank; never nil.
    public mutating func next() -> Int? { distribution.rank(using: &random) - 1 }
}
