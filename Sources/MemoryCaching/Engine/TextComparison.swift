//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Comparing text keys under a lock.
@usableFromInline
enum TextComparison {
    /// Bytes of the longest text that is compared under a lock: comparing so much takes as long as some cache misses.
    @inlinable
    @inline(always)
    static var longest: Int { 512 }

    /// Bytes of the longest text that can be equal to one of ``longest`` bytes: in any normal form text is three times
    /// as long as in another at most, in bytes of UTF-8 (UAX #15, "Respecting Canonical Equivalence"), and so nine
    /// times as long from form to form. What is longer still is not looked into: it would be normalised.
    @inlinable
    @inline(always)
    static var longestEqual: Int { 9 &* longest }

    /// Whether a stored text is equal to one of at most ``longest`` bytes.
    @inlinable
    @inline(__always)
    static func isEqual(_ stored: String, to text: String) -> Bool {
        // The very same string, or a short one: its bytes are in these words, where pointers have 64 bits.
        MemoryLayout<String>.size == MemoryLayout<(UInt64, UInt64)>.size
            && unsafeBitCast(stored, to: (UInt64, UInt64).self) == unsafeBitCast(text, to: (UInt64, UInt64).self)
            || isEqualByBytes(stored, to: text)
    }

    /// Text of the same bytes is equal. It mostly is that, and is compared so within a processor's window of
    /// instructions: the memory that the rest of a hit needs is asked for meanwhile.
    ///
    /// Known to write nothing, so that a stored key need not be retained for the call.
    @usableFromInline
    @inline(never)
    @_effects(readonly)
    static func isEqualByBytes(_ stored: String, to text: String) -> Bool {
        let (left, right) = (stored.utf8, text.utf8)
        let haveSameBytes: Bool?? = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.count == right.count && left.count >= 8
                    && areSame(UnsafeRawPointer(left.baseAddress!), UnsafeRawPointer(right.baseAddress!), left.count)
            }
        }
        if haveSameBytes == true { return true }
        return left.count <= longestEqual && stored == text
    }

    /// Whether `count` bytes are the same at both places, at least eight.
    @inline(__always)
    private static func areSame(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int) -> Bool {
        func difference(_ offset: Int) -> UInt64 {
            left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        var offset = 0
        while offset < count &- 8 {
            if difference(offset) != 0 { return false }
            offset &+= 8
        }
        return difference(count &- 8) == 0
    }
}
