//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import Synchronization

extension CacheEngine {
    // MARK: Looking at the whole

    /// Entries held, without those whose lifetime is over.
    package var count: Int {
        removeExpired()
        return entryCount
    }

    /// Sum of the costs held, without those whose lifetime is over; saturates at `Int.max`.
    package var totalCost: Int {
        removeExpired()
        return heldCost
    }

    /// What has happened so far.
    package var statistics: CacheStatistics {
        var result = CacheStatistics()
        forEachShard { shard in
            let (lookups, counters) = (shard.pointee.lookups, shard.pointee.counters)
            result.hits += lookups.hits
            result.misses += lookups.misses
            result.insertions += counters.insertions
            result.refusals += counters.refusals
            result.removalCounts += counters.removals
        }
        if let figures = account?.figures {
            result.bytesAskedUnderPressure = figures.bytesAsked.load(ordering: .relaxed)
            result.bytesReturnedUnderPressure = figures.bytesReturned.load(ordering: .relaxed)
        }
        result.count = entryCount
        result.totalCost = heldCost
        return result
    }

    // MARK: Settings

    /// The cache's name, for people.
    package var name: String {
        get { settings.withLock { $0.name } }
        set {
            var name = newValue
            settings.withLock { swap(&$0.name, &name) }
        }
    }

    /// Whether values whose content is gone are dropped at lookup and in sweeps.
    package var evictsValuesWithDiscardedContent: Bool {
        get { evictsDiscarded.load(ordering: .relaxed) }
        set { evictsDiscarded.store(newValue, ordering: .relaxed) }
    }

    /// Called once for every departure, on the thread that caused it, after every lock is released.
    @usableFromInline
    package var removalObserver: ((Key, Value, RemovalCause) -> Void)? {
        get { settings.withLock { Observer(call: $0.observer) }.call }
        set {
            // What the old observer captured is let go of here, outside the mutex.
            var observer = Observer(call: newValue)
            settings.withLock { settings in
                swap(&settings.observer, &observer.call)
                hasObserver.store(settings.observer != nil, ordering: .relaxed)
            }
        }
    }

    /// An observer on its way through the mutex.
    private struct Observer: @unchecked Sendable {
        // Called on whichever thread removes an entry, by the contract of the engine's own type.
        var call: ((Key, Value, RemovalCause) -> Void)?
    }
}
