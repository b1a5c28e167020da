//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// Wakes all tasks that wait for a state to change. Each looks at the state itself, and waits for a time at most.
package final class ChangeSignal: Sendable {
    private let waiters = Mutex<[ObjectIdentifier: WakeSignal]>([:])

    package init() {}

    /// The state has changed: everyone who waits looks again.
    package func signal() {
        for waiter in waiters.withLock({ Array($0.values) }) { waiter.signal() }
    }

    /// What `look` finds, as soon as it finds something. It is called first at once, then after each signal, and a last
    /// time after `limit` or when the task is cancelled.
    package nonisolated(nonsending) func first<Found>(within limit: Duration, _ look: () -> Found?) async -> Found? {
        if let found = look() { return found }
        let waiter = WakeSignal()
        waiters.withLock { $0[ObjectIdentifier(waiter)] = waiter }
        defer { waiters.withLock { $0[ObjectIdentifier(waiter)] = nil } }
        let deadline = ContinuousClock.now + limit.bounded
        while true {
            // Only now, or again: a change from before the waiter was known has woken nobody.
            if let found = look() { return found }
            guard await waiter.wait(atMost: ContinuousClock.now.duration(to: deadline)) else { return look() }
        }
    }

    /// How many tasks wait; for tests.
    package var waiterCount: Int { waiters.withLock { $0.count } }
}
