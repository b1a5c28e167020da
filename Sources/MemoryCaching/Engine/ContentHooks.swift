//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// What the engine must know about values whose content can be discarded, in closures, because
/// `DiscardableContent` and Apple's `NSDiscardableContent` are two protocols.
///
/// All of them are user code to the engine: none runs under a lock.
@usableFromInline
package final class ContentHooks<Value>: @unchecked Sendable {
    // Immutable; the closures are the protocol witnesses of values that the cache's own contract makes shareable.

    /// Whether the value has content that can be discarded; asked once, when it is set.
    @usableFromInline package let isDiscardable: (Value) -> Bool
    /// Whether the content is gone.
    @usableFromInline package let isDiscarded: (Value) -> Bool
    /// Discards the content if nobody accesses it: when memory is said to run short, and in `NSCache` of what has left.
    @usableFromInline package let discardIfPossible: (Value) -> Void
    /// Whether both are one object, where what leaves the cache loses its content: as in `NSCache`, for which an object
    /// that is set again has not left. nil where it keeps its content for whoever still has it.
    @usableFromInline package let isIdentical: ((Value, Value) -> Bool)?
    /// Whether what leaves or is refused loses its content.
    @usableFromInline package var discardsDeparted: Bool { isIdentical != nil }

    package init(
        isDiscardable: @escaping (Value) -> Bool,
        isDiscarded: @escaping (Value) -> Bool,
        discardIfPossible: @escaping (Value) -> Void,
        isIdentical: ((Value, Value) -> Bool)?
    ) {
        self.isDiscardable = isDiscardable
        self.isDiscarded = isDiscarded
        self.discardIfPossible = discardIfPossible
        self.isIdentical = isIdentical
    }

    /// Hooks for `DiscardableContent`, or nil where no value of the type can conform to it.
    ///
    /// The protocol is class-bound, so structs and enums never conform. A cast costs 31 to 35 ns, which is why it is
    /// made once an insertion, and only for types that may hold an object.
    package static func discardableContent() -> ContentHooks? {
        guard mayBeObject
        else { return nil }
        return ContentHooks(
            isDiscardable: { $0 is any DiscardableContent },
            isDiscarded: { ($0 as? any DiscardableContent)?.isContentDiscarded ?? false },
            discardIfPossible: { ($0 as? any DiscardableContent)?.discardContentIfPossible() },
            isIdentical: nil
        )
    }

    /// Whether a `Value` may be an object: it is a class or an existential, by the kind that every type's metadata
    /// begins with (Swift's ABI, "TypeMetadata": struct 0x200, enum 0x201, tuple 0x301, function 0x302).
    private static var mayBeObject: Bool {
        let kind = unsafeBitCast(Value.self as Any.Type, to: UnsafePointer<UInt>.self).pointee
        return ![0x200, 0x201, 0x301, 0x302].contains(kind)
    }
}
