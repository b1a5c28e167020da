//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

@testable import CacheSimulation

/// What classes of entries are worth, and how much density counts, learned from what stays spend and ghosts earn.
struct LearnedWeights {
    /// W: first stay; levels 2–3; 4–7; 8–15.
    private(set) var weights = [0.35, 1, 1, 1]
    /// X: 0 ignores density, 1 is GreedyDual's, 2 squares it.
    private(set) var exponent = 1.0
    /// m: a slow mean of ln(cost / bytes), the density at which X changes nothing.
    private var mean: Double?
    private var hits = [0.0, 0, 0, 0]
    private var spent = [0.0, 0, 0, 0]
    private var hitDensity = 0.0
    private var spentDensity = 0.0
    private var spentDensitySquared = 0.0

    /// The class of an entry.
    static func kind(level: UInt8, isFirstStay: Bool) -> Int {
        if isFirstStay { return 0 }
        return level < 4 ? 1 : level < 8 ? 2 : 3
    }

    /// Takes note of an insertion's ln(cost / bytes).
    mutating func observe(_ z: Double) {
        let old = mean ?? z
        mean = old + 0.0003 * (z - old)
    }

    /// The worth of an entry of this weight and density: w · cost / bytes where X is 1.
    func value(_ weight: Double, _ z: Double) -> Double {
        weight * exp((mean ?? z) * (1 - exponent) + exponent * z)
    }

    /// The weight of an entry by its level.
    func weight(level: UInt8, isFirstStay: Bool) -> Double {
        if isFirstStay { return max(0.05, weights[0]) }
        let learned = weights[Self.kind(level: level, isFirstStay: false)] * Double(level)
        return max(0.05, max(learned, weights[0] / 2))
    }

    /// The weight that one more stay of a ghost's class would have had.
    func ghostWeight(_ kind: Int) -> Double {
        kind == 0 ? weights[0] : max(weights[kind] * [1, 2, 5, 10][kind], weights[0] / 2)
    }

    /// A ghost came back in time.
    mutating func countHit(kind: Int, _ z: Double) {
        hits[kind] += 1
        hitDensity += z - (mean ?? z)
    }

    /// An entry left; one more stay would have spent so much.
    mutating func countEviction(kind: Int, _ amount: Double, _ z: Double) {
        let deviation = z - (mean ?? z)
        spent[kind] += amount
        spentDensity += amount * deviation
        spentDensitySquared += amount * deviation * deviation
    }

    /// Moves weights and exponent a little towards where all classes earn alike, and forgets a tenth.
    mutating func learn() {
        let total = spent.reduce(0, +)
        guard total > 0 else { return }
        let rate = hits.reduce(0, +) / total
        for kind in 0..<4 {
            let ratio = (hits[kind] + 8) / (rate * spent[kind] + 8)
            weights[kind] = min(16, max(0.05, weights[kind] * pow(ratio, 0.02)))
        }
        let residual = hitDensity - rate * spentDensity
        let variance = rate * (spentDensitySquared - spentDensity * spentDensity / total)
        exponent = min(2, max(0, exponent + 0.05 * residual / (variance + 8)))
        hits = hits.map { $0 * 0.9 }
        spent = spent.map { $0 * 0.9 }
        hitDensity *= 0.9
        spentDensity *= 0.9
        spentDensitySquared *= 0.9
    }
}
