//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The height of an entry in order of use, to 40 binary digits: a `Float` and the 16 digits that follow it.
///
/// A `Float` has 24. With those the last ten of 3 million objects were in no order; and 10⁹ hits of two objects raise L
/// so far beyond all that is not used meanwhile that the heights of that were rounded to some thousand moves. Here the
/// base of a shard is raised after 2³⁶ moves, and heights tell each of them apart.
@usableFromInline
struct FineHeight {
    @usableFromInline let coarse: Float
    @usableFromInline let digits: UInt32

    /// Rounds towards zero, so that order is kept.
    @inlinable
    @inline(always)
    init(_ height: Double) {
        // A `Double` has 52 digits after the first, a `Float` 23.
        coarse = Float(Double(bitPattern: height.bitPattern & ~0x1FFF_FFFF))
        digits = UInt32(truncatingIfNeeded: height.bitPattern &>> 13) & EntryInfo.mostDigits
    }

    @inlinable
    @inline(always)
    init(of entry: EntryMeta) {
        coarse = entry.height
        digits = entry.info.digits
    }

    @inlinable
    @inline(always)
    var value: Double { Double(bitPattern: Double(coarse).bitPattern | UInt64(digits) &<< 13) }
}
