//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// What a run has seen.
final class StressCounters: Sendable {
    /// Accesses that held their bytes in place, verified.
    let pinned = Atomic<Int>(0)
    /// Reads that copied first and asked afterwards, accepted and verified.
    let read = Atomic<Int>(0)
    /// Values rewritten in place.
    let written = Atomic<Int>(0)
    /// Values found to be gone.
    let purged = Atomic<Int>(0)
    /// Children that saw the right bytes or none.
    let forks = Atomic<Int>(0)
    /// Children that did not come to an end.
    let stuckForks = Atomic<Int>(0)
    /// Bytes that were accepted and wrong.
    let corrupt = Atomic<Int>(0)

    /// Accesses that were verified, pinned or not.
    var verifiedCount: Int { pinned.load(ordering: .relaxed) + read.load(ordering: .relaxed) }

    /// Whether every role has done something, forks only if there are any.
    func haveAllTried(forks: Bool) -> Bool {
        pinned.load(ordering: .relaxed) > 0 && read.load(ordering: .relaxed) > 0
            && written.load(ordering: .relaxed) > 0 && purged.load(ordering: .relaxed) > 0
            && (!forks || self.forks.load(ordering: .relaxed) > 0)
    }

    /// One line, `name value` pairs.
    var report: String {
        let pairs: [(String, Int)] = [
            ("pinned", pinned.load(ordering: .relaxed)), ("read", read.load(ordering: .relaxed)),
            ("written", written.load(ordering: .relaxed)), ("purged", purged.load(ordering: .relaxed)),
            ("forks", forks.load(ordering: .relaxed)), ("stuck", stuckForks.load(ordering: .relaxed)),
            ("corrupt", corrupt.load(ordering: .relaxed)),
        ]
        return pairs.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
