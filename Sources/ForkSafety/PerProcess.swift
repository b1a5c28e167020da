//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// A value made once for each process: a child of fork finds another one than its parent's, never one whose lock some
/// thread of the parent held at the moment of the fork.
///
/// Without a lock, which a thread of the parent could hold, too: values stand in a list, one for each generation that
/// asked.
package final class PerProcess<Value: AnyObject & Sendable>: Sendable {
    private final class Slot: Sendable {
        let generation: Int
        let value: Value
        let next = AtomicLazyReference<Slot>()
        init(generation: Int, value: Value) {
            self.generation = generation
            self.value = value
        }
    }

    private let make: @Sendable () -> Value
    private let first = AtomicLazyReference<Slot>()

    package init(_ make: @escaping @Sendable () -> Value) { self.make = make }

    /// This process's value. Threads that ask for the first time together may make several; all get the same one.
    package var value: Value {
        let generation = ForkGeneration.current
        guard var slot = first.load() else { return following(first, generation) }
        while slot.generation != generation {
            guard let next = slot.next.load() else { return following(slot.next, generation) }
            slot = next
        }
        return slot.value
    }

    private func following(_ place: borrowing AtomicLazyReference<Slot>, _ generation: Int) -> Value {
        place.storeIfNil(Slot(generation: generation, value: make())).value
    }
}
