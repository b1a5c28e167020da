//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A stay in the cache, in units of inflation (L), rounded down to two bits of mantissa: also the number of the queue
/// that holds all entries of that stay.
///
/// The code is simply the top of a positive `Float`: eight bits of exponent and two of mantissa. Two bits are as good
/// as six for the misses, and keep the number of queues small.
@usableFromInline
struct StayCode: Equatable {
    @usableFromInline let rawValue: UInt32

    @inlinable
    @inline(__always)
    init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The code of `stay`, which is clamped to 2⁻¹⁰⁰ … 2¹⁰⁰.
    @inlinable
    @inline(__always)
    init(_ stay: Float) {
        rawValue = Swift.min(Swift.max(stay, 0x1p-100), 0x1p100).bitPattern >> 21
    }

    static var least: StayCode { StayCode(-Float.infinity) }
    static var greatest: StayCode { StayCode(.infinity) }

    /// The stay, rounded down.
    @inlinable
    @inline(__always)
    var length: Float { Float(bitPattern: rawValue << 21) }
}
