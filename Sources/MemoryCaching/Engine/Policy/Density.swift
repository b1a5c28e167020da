//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Recompute cost per byte as a binary logarithm in 32nds, −64 … 64 octaves, in 12 bits: 2.2 % a step, where queues
/// are 19 % to 25 % apart. A millisecond for a gibibyte, counted in days, is −56.
@usableFromInline
struct Density: Equatable {
    /// 0 … 4095; 2048 is a density of 1.
    @usableFromInline let code: Int32

    @inlinable
    @inline(__always)
    init(code: Int32) { self.code = code }

    /// Cost and bytes unknown, or one another's equal.
    @inlinable @inline(__always) static var one: Density { Density(code: 2048) }

    /// The highest cost that counts: beside L, which it raises, what is worth 1 can still be told as a `Double`.
    @inlinable @inline(__always) static var mostCost: Double { 1e15 }

    /// `cost` per `bytes`; a cost that is not a positive number counts as 1, one above ``mostCost`` as that, bytes below
    /// 1 as 1.
    @inlinable
    init(recomputeCost cost: Double?, bytes: Int) {
        if cost == nil, bytes <= 1 {
            code = 2048
        } else {
            let known = cost.map { $0 > 0 && $0.isFinite ? Swift.min($0, Self.mostCost) : 1 } ?? 1
            let octaves = FastLogarithm.log2(known) - FastLogarithm.log2(Double(Swift.max(1, bytes)))
            code = Int32(Swift.min(Swift.max((octaves * 32).rounded() + 2048, 0), 4095))
        }
    }

    /// The logarithm to base 2.
    @inlinable
    @inline(__always)
    var octaves: Float { Float(code - 2048) * (1 / 32) }
}

/// Logarithms and powers of two from the layout of floating-point numbers and one parabola: within 1/100 octave, where
/// the queues are a quarter octave apart. Exact at whole octaves, so that unit sizes stay exactly 1.
@usableFromInline
enum FastLogarithm {
    /// log₂ of a positive, finite, normal number.
    @inlinable
    @inline(__always)
    static func log2(_ value: Double) -> Double {
        let bits = Swift.max(value, .leastNormalMagnitude).bitPattern
        let exponent = Double(Int(bits >> 52 & 0x7FF) - 1023)
        let fraction = Double(bitPattern: bits & 0xF_FFFF_FFFF_FFFF | 0x3FF0_0000_0000_0000) - 1
        return exponent + fraction + 0.344 * fraction * (1 - fraction)
    }

    /// 2 to the power of `octaves`, −120 … 120.
    @inlinable
    @inline(__always)
    static func exp2(_ octaves: Float) -> Float {
        let clamped = Swift.min(Swift.max(octaves, -120), 120)
        // Rounded down by hand: the processors that this is compiled for have no instruction for it, but a call.
        let truncated = Int32(clamped)
        let wholeCode = Float(truncated) > clamped ? truncated &- 1 : truncated
        let fraction = clamped - Float(wholeCode)
        let mantissa = 1 + fraction * (0.6565 + 0.3435 * fraction)
        return Float(bitPattern: UInt32(bitPattern: wholeCode &+ 127) &<< 23) * mantissa
    }
}
