//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What the policy has learned, as every shard keeps it for itself: the weights of the levels, the exponent of density
/// and the mean density they are relative to.
@usableFromInline
struct PolicyWeights {
    /// Weight by level; at 0 that of the first stay.
    @usableFromInline
    var byLevel:
        (
            Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float,
            Float
        )
    /// X: 0 ranks by reuse alone, 1 by recompute cost per byte, 2 by its square.
    @usableFromInline var exponent: Float = 1
    /// m, in octaves; not a number before the first insertion.
    @usableFromInline var meanDensity = Float.nan
    /// The density that was asked for last, and what it makes of a weight: in a cache of equal entries there is only
    /// one.
    @usableFromInline var lastDensity: Int32 = -1
    @usableFromInline var lastFactor: Float = 1
    /// Counts the learner's corrections.
    @usableFromInline var version: UInt32 = 0
    /// One in 2^`thinning` of the sampled keys is looked at, see ``RecencyRival``.
    @usableFromInline var thinning: UInt32 = 0

    /// Weights of the four classes, first stay first.
    @usableFromInline
    init(classWeights w: SIMD4<Float>) {
        byLevel = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        set(classWeights: w)
    }

    @usableFromInline
    mutating func set(classWeights w: SIMD4<Float>) {
        withUnsafeMutableBytes(of: &byLevel) { bytes in
            let weights = bytes.assumingMemoryBound(to: Float.self)
            weights[0] = max(0.05, w[0])
            for level in 1..<16 {
                // At least half a first stay. With a whole one, the weights cannot say that what was used once is past
                // its time (a window of 2,000 keys, a new one each 4, simulated: 1.09 of LRU's misses instead of .98).
                weights[level] = max(0.05, w[0] / 2, w[Self.classOf(level: level)] * Float(level))
            }
        }
    }

    /// Octaves of levels, because the value of a return is about proportional to their number.
    @inlinable
    @inline(__always)
    static func classOf(level: Int) -> Int { level >= 8 ? 3 : level >= 4 ? 2 : 1 }

    /// The class of an entry: 0 on its first stay.
    @inlinable
    @inline(__always)
    static func classOf(_ info: EntryInfo) -> Int {
        info.has(EntryInfo.firstStay) ? 0 : classOf(level: info.level)
    }

    /// The weight of an entry at `level`, or of one on its first stay at level 0.
    ///
    /// Mutating so that it reads in place: to index into a tuple that is not inout is to copy it.
    @inlinable
    @inline(__always)
    mutating func weight(level: Int) -> Float {
        withUnsafeMutableBytes(of: &byLevel) { $0.load(fromByteOffset: level &* 4, as: Float.self) }
    }

    /// The weight that stands for a whole class when a ghost of it returns: levels 2, 5 and 10.
    @inlinable
    mutating func weight(ofClass index: Int) -> Float {
        weight(level: index == 0 ? 0 : index == 1 ? 2 : index == 2 ? 5 : 10)
    }

    /// The stay that an entry of `weight` and `density` buys: w · exp(m (1 − X) + X z).
    @inlinable
    @inline(__always)
    mutating func stay(weight: Float, density: Density) -> Float {
        if density.code != lastDensity {
            lastDensity = density.code
            lastFactor = FastLogarithm.exp2(meanDensity * (1 - exponent) + exponent * density.octaves)
        }
        return weight * lastFactor
    }
}
