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
struct ObjectKey: Hashable {
    /// The key of the cache's user.
    let object: AnyObject

    static func == (left: ObjectKey, right: ObjectKey) -> Bool {
        if left.object === right.object { return true }
        if let left = left.object as? NSObject {
            guard let right = right.object as? NSObject else { return false }
            return left.isEqual(right)
        }
        guard let left = left.object as? any Hashable, let right = right.object as? any Hashable else { return false }
        return AnyHashable(left) == AnyHashable(right)
    }

    func hash(into hasher: inout Hasher) {
        if let object = object as? NSObject {
            hasher.combine(object.hash)
        } else if let object = object as? any Hashable {
            // By way of `AnyHashable`, which knows equal objects of a class and of its subclasses as such.
            hasher.combine(AnyHashable(object))
        } else {
            hasher.combine(ObjectIdentifier(object))
        }
    }
}

#endif
