//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// The breaker of a near cache in its lock, which nobody takes as long as nothing fails: every remote hit asks twice.
final class SharedBreaker: Sendable {
    private let state = Mutex(CircuitBreaker())
    /// Whether there is no failure to remember; written under the lock alone. One who reads it while a failure is being
    /// reported comes before that.
    private let isUntroubled = Atomic(true)

    /// Whether to ask now. One who is let through must report the outcome.
    func permits(now: Int64) -> Bool {
        isUntroubled.load(ordering: .acquiring) || report { $0.permits(now: now) }
    }

    /// The remote tier has answered, or a new connection is up.
    func succeeded() {
        if !isUntroubled.load(ordering: .acquiring) { report { $0.succeeded() } }
    }

    /// Tells the breaker what came of a request.
    @discardableResult
    func report<R>(_ body: (inout CircuitBreaker) -> R) -> R {
        state.withLock { breaker in
            defer { isUntroubled.store(breaker.state == .closed(failures: 0), ordering: .releasing) }
            return body(&breaker)
        }
    }
}
