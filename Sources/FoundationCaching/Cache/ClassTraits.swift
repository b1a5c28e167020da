//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation
import PurgeableMemory
import Synchronization

/// What the cache must know of an object's class: how it is compared as a key, and whether it has content to discard.
///
/// Asking the runtime takes its time (114 ns for one conformance, measured), so answers are remembered, by class, in a
/// small table that all caches share. Classes never go away; a class that gains a conformance from a library loaded
/// later is seen as it was when a cache first met it.
struct ClassTraits: OptionSet {
    let rawValue: UInt64

    /// Foundation's own `NSString` or `NSMutableString`, no subclass, readable in place.
    static let text = ClassTraits(rawValue: 1 << 0)
    /// `NSNumber` itself.
    static let number = ClassTraits(rawValue: 1 << 1)
    /// `NSURL` itself, hashed as the string that it was made of.
    static let url = ClassTraits(rawValue: 1 << 7)
    /// Any `NSObject`, those above among them.
    static let object = ClassTraits(rawValue: 1 << 2)
    /// `Hashable`, and no `NSObject`.
    static let hashable = ClassTraits(rawValue: 1 << 3)
    /// Adopts `NSDiscardableContent`.
    static let discardable = ClassTraits(rawValue: 1 << 4)
    /// Adopts `DiscardableContent`.
    static let nativelyDiscardable = ClassTraits(rawValue: 1 << 5)
    /// An answer: so that a word of the table is never 0.
    private static let known = ClassTraits(rawValue: 1 << 6)
    private static let mask: UInt64 = 0xFF

    /// Whether objects of the class have content to discard.
    var isDiscardable: Bool { !isDisjoint(with: [.discardable, .nativelyDiscardable]) }

    /// The traits of the class of `object`.
    @inline(__always)
    static func of(_ object: AnyObject) -> ClassTraits {
        let address = UInt64(addressOfClass(of: object))
        let word = table[index(of: address)].load(ordering: .relaxed)
        if word >> 8 == address { return ClassTraits(rawValue: word & mask) }
        return find(object, address)
    }

    /// Where the class of `object` is: the first word of every object, where Swift has no other runtime beside it.
    /// Asked by `type(of:)` the object would be retained and released, which costs more than all the rest here.
    @inline(__always)
    static func addressOfClass(of object: AnyObject) -> UInt {
        UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()).load(as: UInt.self)
    }

    @inline(never)
    private static func find(_ object: AnyObject, _ address: UInt64) -> ClassTraits {
        let type: AnyClass = Swift.type(of: object)
        var traits = known
        if object is NSObject {
            traits.insert(.object)
            if type == NSNumber.self { traits.insert(.number) }
            if type == NSURL.self, URLHash.isHashOfString { traits.insert(.url) }
            if type == NSString.self || type == NSMutableString.self, StringInPlace.isReadable { traits.insert(.text) }
        } else if object is any Hashable {
            traits.insert(.hashable)
        }
        if object is any NSDiscardableContent { traits.insert(.discardable) }
        if object is any DiscardableContent { traits.insert(.nativelyDiscardable) }
        table[index(of: address)].store(address << 8 | traits.rawValue, ordering: .relaxed)
        return traits
    }

    // One word a class: its address (48 bits), then its traits. More classes of keys and objects than places are rare,
    // and then ask the runtime again.
    static let size = 256
    nonisolated(unsafe) private static let table: UnsafeMutablePointer<Atomic<UInt64>> = {
        // Never freed, never replaced, and read and written atomically.
        let table = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: size)
        for index in 0..<size { (table + index).initialize(to: Atomic(0)) }
        return table
    }()

    /// The place in a table of ``size`` of the class at `address`.
    @inline(__always)
    static func index(of address: UInt64) -> Int {
        // Fibonacci hashing: the high bits of a product with 2⁶⁴ divided by the golden ratio.
        Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }
}

#endif
