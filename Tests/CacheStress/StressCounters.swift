//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What all rounds of a run have seen.
final class StressCounters: Sendable {
    /// Reads that found a value, verified.
    let hits = Atomic<Int>(0)
    /// Reads that found none.
    let misses = Atomic<Int>(0)
    /// Values of another key, of an older version than their owner has set, dead ones, and values that were removed.
    let wrong = Atomic<Int>(0)
    /// What the attackers did.
    let attacks = Atomic<Int>(0)
    /// Times that a thread was stopped where it was.
    let stops = Atomic<Int>(0)
    /// Children of fork that read, and those that did not come to an end.
    let forks = Atomic<Int>(0)
    let stuckForks = Atomic<Int>(0)

    /// One line, `name value` pairs.
    var report: String {
        let pairs: [(String, Int)] = [
            ("hits", hits.load(ordering: .relaxed)), ("misses", misses.load(ordering: .relaxed)),
            ("attacks", attacks.load(ordering: .relaxed)), ("stops", stops.load(ordering: .relaxed)),
            ("forks", forks.load(ordering: .relaxed)), ("stuck", stuckForks.load(ordering: .relaxed)),
            ("wrong", wrong.load(ordering: .relaxed)),
        ]
        return pairs.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
