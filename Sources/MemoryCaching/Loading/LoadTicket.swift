//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// Permission to put the result of a load into the cache, which a removal or a newer value takes back.
///
/// Whoever changes a key revokes the tickets of its loads *first* and then changes the entry, under the entry's lock.
/// Whoever stores a load's result asks the ticket under that same lock. So either the store sees the revocation, or it
/// comes before the change and is overwritten by it: a change always wins, and no lock spans both steps.
///
/// A change may come just when a load begins and miss its ticket. A removal has then come before the load, as far as
/// anybody can tell; a new value is found in the entry's place, which therefore has to be as the load left it. A load
/// that was asked for though there is a value replaces whatever is there: it has begun after such a change has.
@usableFromInline
package final class LoadTicket: Sendable {
    private let revoked = Atomic<Bool>(false)
    /// What the result may be stored over.
    let target: Target

    /// What a load is made for.
    package enum Target: Sendable, Equatable {
        /// A key that has no entry.
        case absent
        /// The stale entry with this last deadline.
        case stale(deadline: Int64)
        /// A key with an entry or without one.
        case any
    }

    /// A ticket that nobody has revoked.
    init(for target: Target) { self.target = target }

    /// A ticket for a key without an entry, or for the entry with this last deadline.
    package convenience init(replacing deadline: Int64? = nil) {
        self.init(for: deadline.map { .stale(deadline: $0) } ?? .absent)
    }

    /// Whether the result is to replace a stale value.
    var isForRefresh: Bool { if case .stale = target { true } else { false } }

    /// Whether the result must stay out.
    @usableFromInline
    package var isRevoked: Bool { revoked.load(ordering: .acquiring) }

    /// Takes the permission back, for good.
    package func revoke() { revoked.store(true, ordering: .releasing) }

    /// Whether the result may be stored over an entry with this last deadline, or where there is none.
    @usableFromInline
    func admits(over deadline: Int64?) -> Bool {
        guard !isRevoked else { return false }
        guard let deadline else { return true }
        return switch target {
        case .absent: false
        case .stale(let replaced): replaced == deadline
        case .any: true
        }
    }
}
