//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation

/// The text of Foundation's own `NSString` and `NSMutableString`, read where it is.
///
/// Both keep a `String` as a stored property. Bridged, it costs three pairs of retain and release (72 ns measured),
/// more than all the rest of a hit; read in place it costs none. Where the property is, is not assumed but found: by
/// the mirror of an `NSString`, and by comparing what is there with what was put in. Where that fails, strings are
/// asked for `hash` and `isEqual(_:)` like all other objects.
enum StringInPlace {
    /// Whether text can be read in place, and hashed as Foundation hashes it.
    static let isReadable = offset != 0 && StringHash.isFoundations

    /// The `hash` of an object of one of the two classes.
    @inline(__always)
    static func hash(_ object: AnyObject) -> Int {
        hashOfASCII(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()), offset)
            ?? unsafeDowncast(object, to: NSObject.self).hash
    }

    /// The `hash` of the object at `object`, whose text is `offset` bytes on; nil where it must be asked itself.
    @inline(__always)
    static func hashOfASCII(_ object: UnsafeRawPointer, _ offset: Int) -> Int? {
        let text = (object + offset).assumingMemoryBound(to: String.self)
        return text.pointee.utf8.withContiguousStorageIfAvailable(StringHash.ofASCII) ?? nil
    }

    /// Whether two objects of the two classes are equal.
    @inline(__always)
    static func areEqual(_ left: AnyObject, _ right: AnyObject) -> Bool {
        let areEqual = areEqual(
            UnsafeRawPointer(Unmanaged.passUnretained(left).toOpaque()),
            UnsafeRawPointer(Unmanaged.passUnretained(right).toOpaque()),
            offset
        )
        return areEqual || unsafeDowncast(left, to: NSObject.self).isEqual(right)
    }

    /// Whether the texts of two objects, `offset` bytes on from where these are, are equal: Foundation's own
    /// `isEqual(_:)` asks for no more.
    @inline(__always)
    static func areEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ offset: Int) -> Bool {
        let left = (left + offset).assumingMemoryBound(to: String.self)
        let right = (right + offset).assumingMemoryBound(to: String.self)
        return left.pointee == right.pointee
    }

    /// Bytes from the beginning of an object of the two classes to its `String`; 0 where that is not known.
    static let offset: Int = {
        let samples = [
            "small", String(repeating: "on the heap, ", count: 4), "a constant, too long to be kept in the value",
        ]
        guard let offset = offset(byMirrorOf: NSString(string: samples[0])) else { return 0 }
        let isThere = samples.allSatisfy { sample in
            [NSString(string: sample), NSMutableString(string: sample)].allSatisfy { object in
                let words = UnsafeRawPointer(address(in: object, offset)).load(as: (UInt, UInt).self)
                return words == unsafeBitCast(sample, to: (UInt, UInt).self)
            }
        }
        return isThere ? offset : 0
    }()

    /// Where the `String` among the stored properties is, if each before it takes a word: behind the object's header of
    /// two words, in the order of the mirror's children.
    private static func offset(byMirrorOf string: NSString) -> Int? {
        Mirror(reflecting: string).children.map(\.value).firstIndex { $0 is String }.map { 16 + 8 * $0 }
    }

    @inline(__always)
    private static func address(in object: AnyObject, _ offset: Int) -> UnsafePointer<String> {
        (UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()) + offset).assumingMemoryBound(to: String.self)
    }
}

#endif
