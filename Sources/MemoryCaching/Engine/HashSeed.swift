//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What the hashes of one cache depend on and nobody outside knows: a random word, drawn when the cache is made.
@usableFromInline
package struct HashSeed: Sendable {
    @usableFromInline package let word: UInt64

    package init(word: UInt64) { self.word = word }

    /// A seed from the system's random source.
    package static func random() -> HashSeed { HashSeed(word: .random(in: .min ... .max)) }

    /// The second secret of text. It follows from the first by a product of its own, because a second random word would
    /// make each empty cache larger.
    ///
    /// Its highest bit is set, which no byte of ASCII has, so that eight such bytes combined with it are never 0: a
    /// product with them keeps the other factor. (The constants are those of the golden ratio and of SplitMix64.)
    package var multiplier: UInt64 { Self.fold(word ^ 0xBF58_476D_1CE4_E5B9, 0x9E37_79B9_7F4A_7C15) | 1 << 63 }

    /// Combines a word with the secrets. Here the second one is the first in another order, which costs less than
    /// ``multiplier``; it is odd, and has its highest bit set, so that it is never small.
    ///
    /// Both factors are secret: with a public one, keys can be found whose products lie side by side whatever the seed
    /// is, because a seed that is combined by exclusive-or only turns signs of what the bits of a key add to a product.
    @inlinable
    @inline(always)
    package func mix(_ value: UInt64) -> UInt64 {
        Self.fold(value ^ word, word &<< 32 | word &>> 32 | 1 << 63 | 1)
    }

    /// The word of a key that the standard library has hashed.
    @inlinable
    @inline(always)
    package func word(ofHashValue hashValue: Int) -> UInt64 {
        Self.fold(UInt64(truncatingIfNeeded: hashValue) ^ word, 0x9E37_79B9_7F4A_7C15)
    }

    /// A hash whose bits all depend on all bits of `hash`. (The factor is that of the golden ratio.)
    @inlinable
    @inline(always)
    package static func spread(_ hash: UInt64) -> UInt64 { fold(hash, 0x9E37_79B9_7F4A_7C15) }

    /// The halves of the product, combined: every bit of it depends on all bits of both factors.
    @inlinable
    @inline(always)
    package static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
