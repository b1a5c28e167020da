//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation

/// What a hit must know to read Foundation's commonest keys where they are.
///
/// Every cache has the address of the only one, because a global constant is asked each time whether it has been made.
struct KeyInPlace {
    /// Where the classes are, 0 where their objects cannot be read in place, and what in them is where.
    private let text: UInt
    private let textOffset: Int
    private let number: UInt
    private let numberKinds: (narrow: UInt64, wide: UInt64)

    /// Never freed, never written again.
    nonisolated(unsafe) static let shared: UnsafePointer<KeyInPlace> = {
        let shared = UnsafeMutablePointer<KeyInPlace>.allocate(capacity: 1)
        shared.initialize(to: KeyInPlace())
        return UnsafePointer(shared)
    }()

    private init() {
        text = StringInPlace.isReadable ? UInt(bitPattern: ObjectIdentifier(NSString.self)) : 0
        textOffset = StringInPlace.offset
        numberKinds = NumberInPlace.kinds ?? (0, 0)
        number = NumberInPlace.kinds != nil ? UInt(bitPattern: ObjectIdentifier(NSNumber.self)) : 0
    }

    /// The `hash` of `key`, if it is an exact `NSString` in ASCII or an exact `NSNumber` of at most 32 bits.
    @inline(__always)
    func hash(_ key: AnyObject) -> Int? {
        let address = UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
        let type = address.load(as: UInt.self)
        if type == text { return StringInPlace.hashOfASCII(address, textOffset) }
        if type == number { return NumberInPlace.hash(address, numberKinds) }
        return nil
    }

    /// Whether `key`, of which ``hash(_:)`` knows the hash, is equal to the stored key whose reference is at `stored`:
    /// `true` is certain, `false` is not. Runs no code of anybody's and counts no reference.
    @inline(__always)
    func areSurelyEqual(_ key: AnyObject, _ stored: UnsafeRawPointer) -> Bool {
        let key = UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
        let stored = stored.load(as: UnsafeRawPointer.self)
        let type = key.load(as: UInt.self)
        guard stored.load(as: UInt.self) == type else { return false }
        return type == text ? StringInPlace.areEqual(key, stored, textOffset) : NumberInPlace.areSame(key, stored)
    }
}

#endif
