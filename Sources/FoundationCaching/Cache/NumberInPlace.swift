//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation

/// Whole numbers of Foundation's own `NSNumber`, read where they are.
///
/// The object's header of two words, then a word that says what kind of number it is, then the number. That they are
/// there, and hashed as they are here, is tried on numbers whose values are known; all that is not of their kind is
/// asked itself.
enum NumberInPlace {
    /// The words that say "whole, of 32 bits" and "whole, of 64 bits"; nil where numbers cannot be read in place.
    static let kinds: (narrow: UInt64, wide: UInt64)? = {
        let samples: [Int32] = [0, 1, -1, 2, -3, 100_000, 1_000_000_007, .min, .max]
        let kinds = (narrow: word(16, of: NSNumber(value: Int32.max)), wide: word(16, of: NSNumber(value: Int64.max)))
        func isWhole(_ number: NSNumber) -> Bool { [kinds.narrow, kinds.wide].contains(word(16, of: number)) }
        let isThere = samples.allSatisfy { sample in
            [NSNumber(value: sample), NSNumber(value: Int(sample)), NSNumber(value: Int64(sample))].allSatisfy {
                isWhole($0) && word(24, of: $0) == UInt64(bitPattern: Int64(sample)) && hash(Int64(sample)) == $0.hash
            }
        }
        let others = [NSNumber(value: 1.5), NSNumber(value: Float(1.5)), NSNumber(value: UInt64.max)]
        return isThere && !others.contains(where: isWhole) ? kinds : nil
    }()

    /// The `hash` of the exact `NSNumber` at `object`, if it is whole and 32 bits suffice for it; nil where it must be
    /// asked itself: Foundation hashes larger ones as floating-point numbers.
    @inline(__always)
    static func hash(_ object: UnsafeRawPointer, _ kinds: (narrow: UInt64, wide: UInt64)) -> Int? {
        let kind = object.load(fromByteOffset: 16, as: UInt64.self)
        guard kind == kinds.narrow || kind == kinds.wide else { return nil }
        let value = object.load(fromByteOffset: 24, as: Int64.self)
        return Int64(Int32(truncatingIfNeeded: value)) == value ? hash(value) : nil
    }

    /// Whether two exact `NSNumber`s, the first of these kinds, are of one kind and value.
    @inline(__always)
    static func areSame(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer) -> Bool {
        left.load(fromByteOffset: 16, as: UInt64.self) == right.load(fromByteOffset: 16, as: UInt64.self)
            && left.load(fromByteOffset: 24, as: UInt64.self) == right.load(fromByteOffset: 24, as: UInt64.self)
    }

    /// The magnitude times 2³² divided by the golden ratio, as Foundation hashes a whole number of at most 32 bits.
    @inline(__always)
    private static func hash(_ value: Int64) -> Int {
        Int(truncatingIfNeeded: value.magnitude &* 2_654_435_761)
    }

    private static func word(_ offset: Int, of number: NSNumber) -> UInt64 {
        guard type(of: number) == NSNumber.self else { return 0 }
        return UnsafeRawPointer(Unmanaged.passUnretained(number).toOpaque()).load(
            fromByteOffset: offset,
            as: UInt64.self
        )
    }
}

#endif
