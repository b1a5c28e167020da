//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A value on its way in: all that can be found out about it before any lock is taken.
@usableFromInline
struct Newcomer {
    @usableFromInline let hash: UInt64
    @usableFromInline let cost: Int
    @usableFromInline var info: EntryInfo
    @usableFromInline var deadline: EntryDeadline
    /// The present moment; the smallest where the cache knows no lifetimes.
    @usableFromInline var now: Int64
    /// Whether the level it begins at has been decided. Once for each call, because that takes its ghost.
    @usableFromInline var hasLevel: Bool

    @inlinable
    init(hash: UInt64, cost: Int, info: EntryInfo) {
        self.hash = hash
        self.cost = cost
        self.info = info
        deadline = .never
        now = .min
        hasLevel = info.has(EntryInfo.exact)
    }
}

/// What came of an attempt to store a newcomer.
@usableFromInline
package enum InsertionOutcome: Sendable {
    case stored
    /// It is larger than the whole cache, or worth less than what it would displace.
    case refused
    /// The key changed since the load or the update began.
    case changed
    /// Its shard cannot pay for it: it is to be stored by a large insertion.
    case isLarge
}
