//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// How text is hashed, and why nobody can make it collide on purpose.
//
// # The hash
//
// As in wyhash (Wang Yi and others, "Modern Non-Cryptographic Hash Function and Pseudorandom Number Generator"; its
// source is in the public domain), the bytes are read in blocks of two words. With a secret word s, and another one, m,
// that follows from it:
//
//     state = s
//     state = fold(first ^ m, second ^ state)      for every block; fold combines the halves of the 128-bit product
//     word  = fold(state ^ length, c)              with a public constant
//
// A text of at most 15 bytes is one block, padded with zeroes. A longer text ends with its last sixteen bytes, some of
// which the block before may have had, so that nothing is padded. Texts of different lengths that have the same blocks
// differ in the length alone. It comes in after the products with the text, where no byte can undo it, and before one
// that spreads it, because lengths are small numbers: without that, texts of zeroes do not pass in `KeyHashTests`.
//
// # Equal text
//
// Strings are equal when they are canonically equivalent, so the bytes of equal strings may differ. But only three
// scalars outside ASCII decompose into ASCII (U+212A, U+037E and U+1FEF). So text of ASCII bytes is hashed by its
// bytes, and text that is ASCII but for these three is hashed like the ASCII text that it is equal to. The standard
// library hashes all other text, because it normalises it. Whether text is ASCII is found out while it is hashed.
//
// # An attacker who knows this code
//
// Whoever makes many keys collide makes every lookup walk over all of them (Crosby and Wallach, "Denial of Service via
// Algorithmic Complexity Attacks", USENIX Security 2003). This attacker knows everything but the seed of the cache, and
// sees no hash, because none leaves the process.
//
// 1. *A factor that is zero or all ones* makes the fold zero or all ones, whatever the other factor is, so that one
//    block hides all that came before it: wyhash's source calls that "blind multiplication". wyhash's default secrets
//    are published, so that anybody can write a block that is equal to one, for all seeds at once. Here both factors
//    contain secrets. The first factor is never zero, because m has its highest bit set and no ASCII byte has; it is
//    all ones for one word, which the attacker would have to guess, if m has the highest bits of its other seven bytes
//    set, too. The second is zero or all ones for two of 2^64 words, to be guessed for each block anew, because the
//    state is secret.
// 2. *Texts that differ in one block.* With x = first ^ m and y = second ^ state unknown, the attacker chooses
//    differences d and e and needs fold(x, y) = fold(x ^ d, y ^ e). UMAC's NH is made of such products (Black, Halevi,
//    Krawczyk, Krovetz and Rogaway, "UMAC: Fast and Secure Message Authentication", CRYPTO 1999), with addition in the
//    place of exclusive-or, and it keeps all 128 bits. NH's proof does not carry over to the fold: this is an argument
//    and no theorem. We know of no differences that collide more often than random numbers do. Two states that differ
//    meet again over the same blocks no more often than that either.
//    That m follows from s gives the attacker 64 bits to guess, as many as a hash has, and no relation to use: it is a
//    folded product with a constant, which no difference of words passes through.
// 3. *Collisions that were found elsewhere* are of no use, because every cache draws its own seed. The standard library
//    has one seed for the whole process, so that keys that collide in one dictionary collide in all.
//
// So flooding a cache with text is as hard as it was with SipHash for an attacker who sees no hashes, which is the one
// that a cache has. SipHash (Aumasson and Bernstein, INDOCRYPT 2012) is believed to hold also against attackers who see
// hashes of their choice. A folded product does not: its secrets could be computed from some hashes. So a cache never
// hands out, prints or stores elsewhere a hash or a seed. The attacker is left with the order in which a cache lists
// its entries, where a program shows it, and with differences of nanoseconds between lookups.
//
// Strings chosen against known seeds, texts in a row, of zeroes, of permuted blocks and of one or two different bits
// collide like random numbers (`KeyHashTests`).

extension HashSeed {
    /// The word of a text: the same for equal texts.
    @usableFromInline
    @inline(never)
    package func word(of text: String) -> UInt64 { word(ofEither: text) }

    @usableFromInline
    @inline(never)
    package func word(of text: Substring) -> UInt64 { word(ofEither: text) }

    @inline(__always)
    private func word(ofEither text: some StringProtocol) -> UInt64 {
        let ofBytes: UInt64? =
            text.utf8.withContiguousStorageIfAvailable { self.word(ofUTF8: UnsafeRawBufferPointer($0)) }
            ?? wordOfCopy(text)
        return ofBytes ?? word(ofHashValue: text.hashValue)
    }

    /// The word of a text whose bytes are not at hand, as those of Apple's bridged strings; nil as below.
    @inline(never)
    func wordOfCopy(_ text: some StringProtocol) -> UInt64? { Array(text.utf8).withUnsafeBytes(word(ofUTF8:)) }

    /// The word of text that is equal to ASCII text; nil for all other text.
    @inline(__always)
    private func word(ofUTF8 text: UnsafeRawBufferPointer) -> UInt64? { word(ofASCII: text) ?? wordOfEqual(text) }

    @inline(never)
    private func wordOfEqual(_ text: UnsafeRawBufferPointer) -> UInt64? {
        Self.ascii(equalTo: text).flatMap { $0.withUnsafeBytes(word(ofASCII:)) }
    }

    /// The ASCII text that is equal to this text; nil where there is none.
    ///
    /// Equal is what is canonically equivalent, and only three scalars that are not ASCII themselves decompose into
    /// ASCII (UnicodeData.txt; the first part of NormalizationTest.txt has them all).
    private static func ascii(equalTo text: UnsafeRawBufferPointer) -> [UInt8]? {
        func scalar(at index: Int) -> (ascii: UInt8, length: Int)? {
            switch text[index] {
            case 0..<0x80: (text[index], 1)
            case 0xE2 where text[index + 1] == 0x84 && text[index + 2] == 0xAA: (UInt8(ascii: "K"), 3)  // U+212A
            case 0xCD where text[index + 1] == 0xBE: (UInt8(ascii: ";"), 2)  // U+037E
            case 0xE1 where text[index + 1] == 0xBF && text[index + 2] == 0xAF: (UInt8(ascii: "`"), 3)  // U+1FEF
            default: nil
            }
        }
        // Nothing is allocated before it is known that there is such text: there seldom is.
        var length = 0
        var index = 0
        while index < text.count {
            if index + 8 <= text.count, Self.areASCII(text.loadUnaligned(fromByteOffset: index, as: UInt64.self)) {
                index += 8
                length += 8
                continue
            }
            guard let scalar = scalar(at: index) else { return nil }
            index += scalar.length
            length += 1
        }
        return [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
            var index = 0
            while index < text.count, let scalar = scalar(at: index) {
                bytes.initializeElement(at: count, to: scalar.ascii)
                count += 1
                index += scalar.length
            }
        }
    }

    @inline(__always)
    private static func areASCII(_ bytes: UInt64) -> Bool { bytes & 0x8080_8080_8080_8080 == 0 }

    /// The word of ASCII text; nil where a byte is not ASCII, which is found out on the way.
    @inline(__always)
    private func word(ofASCII text: UnsafeRawBufferPointer) -> UInt64? {
        let count = text.count
        guard count > 0, let base = text.baseAddress else { return word(0, 0, after: word, count: 0) }
        func load<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Word.Type) -> UInt64 {
            UInt64(truncatingIfNeeded: base.loadUnaligned(fromByteOffset: offset, as: type).littleEndian)
        }
        var state = word
        var seen: UInt64 = 0
        let (first, second): (UInt64, UInt64)
        switch count {
        case 1...3:
            // The first byte, the middle one and the last, each at its place.
            first =
                load(0, as: UInt8.self) | load(count / 2, as: UInt8.self) << (count / 2 * 8)
                | load(count - 1, as: UInt8.self) << (count * 8 - 8)
            second = 0
        case 4...7:
            first = load(0, as: UInt32.self) | load(count - 4, as: UInt32.self) << (count * 8 - 32)
            second = 0
        case 8...15:
            first = load(0, as: UInt64.self)
            second = load(count - 8, as: UInt64.self) >> (128 - count * 8)
        default:
            var offset = 0
            while offset < count - 16 {
                let (first, second) = (load(offset, as: UInt64.self), load(offset + 8, as: UInt64.self))
                seen |= first | second
                state = Self.fold(first ^ multiplier, second ^ state)
                offset += 16
            }
            // The last sixteen bytes, of which the last block may have had some.
            first = load(count - 16, as: UInt64.self)
            second = load(count - 8, as: UInt64.self)
        }
        seen |= first | second
        guard Self.areASCII(seen) else { return nil }
        return word(first, second, after: state, count: count)
    }

    @inline(__always)
    private func word(_ first: UInt64, _ second: UInt64, after state: UInt64, count: Int) -> UInt64 {
        Self.fold(
            Self.fold(first ^ multiplier, second ^ state) ^ UInt64(truncatingIfNeeded: count),
            0x9E37_79B9_7F4A_7C15
        )
    }
}
