//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// How many forks lie between this process and the one that first asked.
///
/// A child of fork without exec has its parent's memory but none of its other threads. Whoever started a thread, or
/// holds descriptors that only make sense with it, keeps the number of that moment and looks whether it still holds.
package enum ForkGeneration {
    private static let count: Atomic<Int> = {
        // Runs once, before the first number is handed out, so that no fork after that is missed.
        Platform.onForkInChild { ForkGeneration.advance() }
        return Atomic(0)
    }()

    /// The number of this process.
    package static var current: Int { count.load(ordering: .relaxed) }

    private static func advance() { count.add(1, ordering: .relaxed) }
}

/// A value made once for each process: a child of fork finds another one than its parent's, never one whose lock some
/// thread of the parent held at the moment of the fork.
package final class PerProcess<Value: AnyObject & Sendable>: Sendable {
    private final class Slot: Sendable {
        let generation: Int
        let value: Value
        init(generation: Int, value: Value) {
            self.generation = generation
            self.value = value
        }
    }

    private let make: @Sendable () -> Value
    private let slot: AtomicLazyReference<Slot>
    private let later = Mutex<Slot?>(nil)

    package init(_ make: @escaping @Sendable () -> Value) {
        self.make = make
        slot = AtomicLazyReference()
    }

    /// This process's value.
    package var value: Value {
        let generation = ForkGeneration.current
        let first = slot.load() ?? slot.storeIfNil(Slot(generation: generation, value: make()))
        if first.generation == generation { return first.value }
        // Only a child comes here, and only its own threads ever take this lock before its own children do.
        return later.withLock { held in
            if let held, held.generation == generation { return held.value }
            let fresh = Slot(generation: generation, value: make())
            held = fresh
            return fresh.value
        }
    }
}
