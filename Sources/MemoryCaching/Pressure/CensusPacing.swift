//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// When the allocator may be asked what lies free.
///
/// Mostly that takes microseconds, but 35 ms with 640,000 free chunks scattered over the heap, whose locks it holds
/// meanwhile. So a census takes a twentieth of the time at most and is taken ten times a second at most.
struct CensusPacing: Sendable {
    /// What a census is taken for.
    enum Urgency {
        case usual
        /// How much is used of memory that is announced: no more often than once in 5 ms, in which a cache may change
        /// by 5 MiB.
        case announced
        /// Room was made for an announcement, and what has come of that is about to be the measure of its use; or what is
        /// evicted hangs on entries whose size is not known: half of the time at most.
        case decisive
        /// A wrong account evicts everything or gets the process killed: half of the time at most, and no more often
        /// than once in 5 ms.
        case brink

        /// Nanoseconds until the next one may begin after one that took so many.
        fileprivate func distance(_ took: UInt64) -> UInt64 {
            switch self {
            case .usual: max(100_000_000, 19 * min(took, 1_000_000_000))
            case .announced: max(5_000_000, 19 * min(took, 1_000_000_000))
            case .decisive: took
            case .brink: max(5_000_000, took)
            }
        }
    }

    private var begin: UInt64?
    private var end: UInt64 = 0

    /// Whether a census may begin at `now` (monotonic nanoseconds). If so, it has begun.
    mutating func begins(at now: UInt64, _ urgency: Urgency) -> Bool {
        if let begin, now &- end < urgency.distance(end &- begin) { return false }
        begin = now
        end = now
        return true
    }

    /// Takes note of when a census was done. Another thread may have begun one after that moment: that one goes on. (Its
    /// beginning after the end was taken for the longest of times, and no census was taken any more.)
    mutating func finished(at now: UInt64) {
        if let begin, now >= begin { end = now }
    }
}
