//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// SplitMix64: a small generator whose numbers repeat from a seed.
///
/// - SeeAlso: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    /// A generator that repeats its numbers for the same `seed`.
    @inlinable
    public init(seed: UInt64) { state = seed }

    /// The next number.
    @inlinable
    public mutating func next() -> UInt64 {
        defer { state &+= 0x9E37_79B9_7F4A_7C15 }
        return Self.splitMix(state)
    }

    /// What a generator with seed `value` would say first: SplitMix64 as a hash.
    @inlinable
    public static func splitMix(_ value: UInt64) -> UInt64 { mix(value &+ 0x9E37_79B9_7F4A_7C15) }

    /// The finaliser alone: a bijection that spreads every bit.
    @inlinable
    public static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }
}

extension RandomNumberGenerator {
    /// A number in [0, 1) of 53 random bits.
    package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
