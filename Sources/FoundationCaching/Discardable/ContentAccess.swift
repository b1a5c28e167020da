//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

/// One access to discardable content, which begins when this object is made and ends when it is released.
///
/// It stands where Apple's code uses `autoContentAccessingProxy`. That is an `NSProxy`, which forwards every message to
/// the content; Swift outside Apple's platforms cannot forward messages, so this object *owns* the access instead and
/// gives the content through ``target``, or member by member:
///
/// ```swift
/// guard let access = ContentAccess(data) else { return reload() }   // nil: the content is gone
/// print(access.length)                                             // data.length
/// try access.target.write(to: url)
/// ```
///
/// The gap that remains: a `ContentAccess` is not itself an `NSPurgeableData`, so hand on ``target`` where one is asked
/// for, and keep the access alive while pointers from it are in use (`withExtendedLifetime(access) { … }`): Swift
/// releases an object after its last use, not at the end of the scope.
///
/// - SeeAlso: Apple, `NSObject.autoContentAccessingProxy`.
@dynamicMemberLookup
public final class ContentAccess<Content: NSDiscardableContent> {
    /// The content, accessed for as long as this object lives.
    public let target: Content

    /// Begins an access to `content`; `nil` if the content has been discarded.
    public init?(_ content: Content) {
        guard content.beginContentAccess() else { return nil }
        target = content
    }

    deinit { target.endContentAccess() }

    /// A property of the content.
    public subscript<Member>(dynamicMember member: KeyPath<Content, Member>) -> Member { target[keyPath: member] }

    /// A property of the content, to be changed.
    public subscript<Member>(dynamicMember member: ReferenceWritableKeyPath<Content, Member>) -> Member {
        get { target[keyPath: member] }
        set { target[keyPath: member] = newValue }
    }
}

extension ContentAccess: Sendable where Content: Sendable {}

#endif
