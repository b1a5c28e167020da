//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How many words a table has, and whether hashes of integers are spread before they are looked for in it.
///
/// One multiplication by a secret factor places keys in a row more evenly than random numbers lie, and it is all that a
/// lookup waits for. But each factor is a bad one for some distances between keys: of caches that were filled with 3,000
/// keys at one of 24 distances, 2.3 % had lookups that read more than three words on average, and one read 317. So a
/// table begins without the second multiplication, and spreads its hashes (``KeyHash/spread(_:)``) once insertions and
/// removals have met too many words in crowds (``EntryStorage/noteCrowd(_:)``).
///
/// - SeeAlso: Linux's `rhashtable.c`, which hashes anew by another seed where a chain is longer than 16.
@usableFromInline
struct TableLayout: Equatable {
    /// The number of the last place; the highest bit is set where hashes are spread.
    @usableFromInline let bits: UInt

    @inlinable
    @inline(always)
    init(bits: UInt) { self.bits = bits }

    /// - Parameter size: a power of two.
    @inlinable
    @inline(always)
    init(size: Int, isSpread: Bool) { bits = UInt(bitPattern: size &- 1) | (isSpread ? TableLayout.spreadBit : 0) }

    @inlinable @inline(always) static var spreadBit: UInt { 1 &<< 63 }

    @inlinable
    @inline(always)
    var isSpread: Bool { bits & TableLayout.spreadBit != 0 }

    /// Words in the table.
    @inlinable
    @inline(always)
    var size: Int { Int(bitPattern: mask &+ 1) }

    @inlinable
    @inline(always)
    var mask: UInt { bits & ~TableLayout.spreadBit }

    /// The place where a hash that is ``EntryStorage/placed(_:by:)`` begins. Neither here nor in ``next(_:)`` does the
    /// highest bit matter.
    @inlinable
    @inline(always)
    func home(_ placed: UInt64) -> UInt { UInt(truncatingIfNeeded: placed &>> 32) & bits }

    @inlinable
    @inline(always)
    func next(_ index: UInt) -> UInt { (index &+ 1) & bits }

    /// Places from `start` to `end`.
    @inlinable
    @inline(always)
    func distance(from start: UInt, to end: UInt) -> UInt { (end &- start) & mask }
}
