//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import Synchronization

extension CacheEngine {
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
