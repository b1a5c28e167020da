//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation

/// A key of `NSCache` as the engine sees it: the object itself, retained and never copied.
///
/// Keys are equal as their class says: by `isEqual` and `hash` for an `NSObject`, by `==` and `hash(into:)` for a
/// `Hashable` class, by identity otherwise. All three run user code, which is why the engine asks for the hash once,
/// before it takes a lock, remembers it, and compares outside.
///
/// Some classes of Foundation have a shorter way to the same answers, because they are what keys mostly are: its
/// strings are hashed and compared where they are (`StringInPlace`), its URLs hashed by their strings (`URLHash`), and
/// numbers compared as numbers: 66 ns where `isEqual`, which also knows how to compare with an `Int`, takes 364.
/// Subclasses of them are asked themselves.
struct ObjectKey: Hashable {
    /// The key of the cache's user.
    let object: AnyObject

    static func == (left: ObjectKey, right: ObjectKey) -> Bool {
        if left.object === right.object { return true }
        let traits = (ClassTraits.of(left.object), ClassTraits.of(right.object))
        let common = traits.0.intersection(traits.1)
        if common.contains(.text) { return StringInPlace.areEqual(left.object, right.object) }
        if common.contains(.number) { return left.number.isEqual(to: right.number) }
        if common.contains(.object) {
            return unsafeDowncast(left.object, to: NSObject.self).isEqual(right.object)
        }
        return common.contains(.hashable) && HashableClass.areEqual(left.object, right.object)
    }

    /// The object's own hash. The engine mixes it with a seed, so it is not hashed once more here.
    var hashValue: Int {
        let traits = ClassTraits.of(object)
        if traits.contains(.text) { return StringInPlace.hash(object) }
        if traits.contains(.url) { return URLHash.hash(object) }
        if traits.contains(.object) { return unsafeDowncast(object, to: NSObject.self).hash }
        if traits.contains(.hashable) { return HashableClass.hash(object) }
        return ObjectIdentifier(object).hashValue
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hashValue) }

    private var number: NSNumber { unsafeDowncast(object, to: NSNumber.self) }
}

#endif
