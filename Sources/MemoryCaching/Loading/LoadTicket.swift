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
/// anybody can tell; a new value is found in the entry's place, which therefore has to be as the load left it.
@usableFromInline
package final class LoadTicket: Sendable {
    private let revoked = Atomic<Bool>(false)
    /// The last deadline of the stale entry that the load is to replace; nil if there was no entry.
    let replacedDeadline: Int64?

    /// A ticket that nobody has revoked.
    package init(replacing deadline: Int64? = nil) { replacedDeadline = deadline }

    /// Whether the result must stay out.
    package var isRevoked: Bool { revoked.load(ordering: .acquiring) }

    /// Takes the permission back, for good.
    package func revoke() { revoked.store(true, ordering: .releasing) }

    /// Whether the result may be stored over an entry with this last deadline, or where there is none.
    @usableFromInline
    func admits(over deadline: Int64?) -> Bool {
        !isRevoked && (deadline == nil || deadline == replacedDeadline)
    }
}
