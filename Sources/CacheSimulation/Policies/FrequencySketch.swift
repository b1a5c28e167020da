//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A count-min sketch of 4-bit counters that are halved together after ten increments a tracked key, so that old fame
/// fades.
///
/// - SeeAlso: Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache Admission Policy" (ACM TOS 13, 2017).
struct FrequencySketch {
    private static let depth = 4

    private var counters: [UInt8] = []
    private var width = 0
    private var increments = 0
    /// After how many increments all counters are halved.
    private(set) var sampleSize = 0

    /// A sketch for about `keys` keys.
    init(keys: Int) { resize(keys: keys) }

    /// Makes room for `keys` keys; forgets everything if it grows.
    mutating func resize(keys: Int) {
        var power = 8
        while power < keys { power *= 2 }
        guard 4 * power > width else { return }
        width = 4 * power
        counters = .init(repeating: 0, count: width * Self.depth)
        sampleSize = 10 * max(1, keys)
        increments = 0
    }

    /// How often the key was seen lately, up to 15.
    func frequency(_ hash: UInt64) -> UInt8 {
        (0..<Self.depth).map { counters[index(hash, $0)] }.min() ?? 0
    }

    /// Counts the key.
    mutating func increment(_ hash: UInt64) {
        var didAdd = false
        for row in 0..<Self.depth {
            let index = index(hash, row)
            if counters[index] < 15 {
                counters[index] += 1
                didAdd = true
            }
        }
        increments += didAdd ? 1 : 0
        if increments >= sampleSize { age() }
    }

    private mutating func age() {
        var odd = 0
        for index in counters.indices {
            odd += Int(counters[index] & 1)
            counters[index] >>= 1
        }
        increments = (increments - odd / Self.depth) / 2
    }

    private func index(_ hash: UInt64, _ row: Int) -> Int {
        let mixed = SeededGenerator.splitMix(hash &+ UInt64(row))
        return row * width + Int(truncatingIfNeeded: mixed & UInt64(width - 1))
    }
}
