//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Synchronization

/// When a full cache looks through itself for discarded content, so that what is gone makes room before what is used.
///
/// Only the objects know that their content has gone, so all must be asked. A cache of up to 32 objects asks before
/// each insertion that finds it full; a larger one after every eighth of its count, which makes it eight questions an
/// insertion. A cache that has never held discardable content does not ask at all.
struct SweepSchedule: ~Copyable {
    /// Insertions into the full cache until the next sweep; negative before the first discardable object.
    private let countdown = Atomic<Int>(-1)

    /// A discardable object goes in.
    func noteDiscardable() {
        if countdown.load(ordering: .relaxed) < 0 {
            _ = countdown.compareExchange(expected: -1, desired: 0, ordering: .relaxed)
        }
    }

    /// An insertion finds the cache full with `count` objects; whether it is to sweep first.
    func isDue(count: Int) -> Bool {
        let left = countdown.load(ordering: .relaxed)
        guard left >= 0 else { return false }
        // A race between threads moves a sweep by an insertion or two, and never makes the countdown negative.
        let isDue = left == 0
        countdown.store(isDue ? (count > 32 ? count / 8 : 0) : left - 1, ordering: .relaxed)
        return isDue
    }
}

#endif
