//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// Requests made before any clock runs.
struct Requests: Sendable {
    /// A power of two, so that walking round is a mask; larger than any cache of the processor.
    static let count = 1 << 20

    /// The ranks of the keys, from 0, most popular first.
    let ranks: [UInt32]

    /// Zipf-distributed ranks below `keys`.
    init(keys: Int, seed: UInt64) {
        var sums: [Double] = []
        sums.reserveCapacity(keys)
        var sum = 0.0
        for rank in 1...keys {
            sum += 1 / pow(Double(rank), 0.99)
            sums.append(sum)
        }
        var state = seed
        ranks = (0..<Self.count).map { _ in
            state &+= 0x9E37_79B9_7F4A_7C15
            let target = Double(Self.mix(state) >> 11) * 0x1p-53 * sum
            var low = 0, high = keys - 1
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < target { low = middle + 1 } else { high = middle }
            }
            return UInt32(low)
        }
    }

    /// The key of a rank: spread over all 64 bits, so that nobody profits from keys in a row.
    static func key(_ rank: Int) -> UInt64 { mix(UInt64(rank) &+ 0x1234_5678) }

    /// SplitMix64's finaliser.
    private static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }
}
