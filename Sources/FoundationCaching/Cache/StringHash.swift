//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation

/// The `hash` of an `NSString`, made from UTF-8 without asking the object.
///
/// Asked, Foundation fetches the string character by character: 94 ns for one of 30, where this takes 6. The value must
/// be the very same, because keys of other classes that are equal to a string, subclasses of `NSString` first of all,
/// answer with it. So nothing is assumed: ``isFoundations`` compares the two before this one is used.
///
/// A polynomial in 257 over UTF-16 units, of long strings over 32 units each from the beginning, the middle and the
/// end.
enum StringHash {
    /// The hash of a string of these UTF-8 bytes; nil where they are not all ASCII, so that bytes are not units.
    @inline(__always)
    static func ofASCII(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard isASCII(text) else { return nil }
        let count = text.count
        var hash = UInt(bitPattern: count)
        if count <= 96 {
            add(text, 0, count, to: &hash)
        } else {
            add(text, 0, 32, to: &hash)
            add(text, count / 2 - 16, count / 2 + 16, to: &hash)
            add(text, count - 32, count, to: &hash)
        }
        return Int(bitPattern: hash &+ hash &<< UInt(bitPattern: count & 31))
    }

    /// 257⁴ in 32 bits, which is what Foundation multiplies 64 bits by.
    private static var fourSteps: UInt { 257 * 257 * 257 * 257 & 0xFFFF_FFFF }

    @inline(__always)
    private static func isASCII(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt64 = 0
        var index = 0
        while text.count &- index >= 8 {
            all |= word(text, index)
            index &+= 8
        }
        while index < text.count {
            all |= UInt64(text[index])
            index &+= 1
        }
        return all & 0x8080_8080_8080_8080 == 0
    }

    /// Eight bytes, the first of them lowest.
    @inline(__always)
    private static func word(_ text: UnsafeBufferPointer<UInt8>, _ index: Int) -> UInt64 {
        let address = UnsafeRawPointer(text.baseAddress.unsafelyUnwrapped + index)
        return UInt64(littleEndian: address.loadUnaligned(as: UInt64.self))
    }

    @inline(__always)
    private static func add(_ text: UnsafeBufferPointer<UInt8>, _ begin: Int, _ end: Int, to hash: inout UInt) {
        var index = begin
        // Eight bytes become four sums of two, which fit in 16 bits, and these two sums of four, which fit in 32:
        // fewer multiplications, of which only one in four bytes waits for the one before.
        while end &- index >= 8 {
            let bytes = word(text, index)
            let pairs = (bytes & 0x00FF_00FF_00FF_00FF) &* 257 &+ (bytes &>> 8 & 0x00FF_00FF_00FF_00FF)
            let fours = (pairs & 0x0000_FFFF_0000_FFFF) &* (257 * 257) &+ (pairs &>> 16 & 0x0000_FFFF_0000_FFFF)
            hash = hash &* fourSteps &+ UInt(fours & 0xFFFF_FFFF)
            hash = hash &* fourSteps &+ UInt(fours &>> 32)
            index &+= 8
        }
        if end &- index >= 4 {
            let high = UInt(text[index]) &* (257 * 257 * 257) &+ UInt(text[index &+ 1]) &* (257 * 257)
            let low = UInt(text[index &+ 2]) &* 257 &+ UInt(text[index &+ 3])
            hash = hash &* fourSteps &+ high &+ low
            index &+= 4
        }
        while index < end {
            hash = hash &* 257 &+ UInt(text[index])
            index &+= 1
        }
    }

    /// Whether Foundation's strings hash as this does, tried on lengths on both sides of every boundary.
    static let isFoundations: Bool = [0, 1, 3, 4, 5, 15, 16, 31, 32, 33, 63, 64, 95, 96, 97, 98, 99, 127, 128, 1001]
        .allSatisfy { count in
            let text = String(decoding: (0..<count).map { UInt8(32 + ($0 * 7 + count) % 95) }, as: UTF8.self)
            return text.utf8.withContiguousStorageIfAvailable(ofASCII) == NSString(string: text).hash
        }
}

#endif
