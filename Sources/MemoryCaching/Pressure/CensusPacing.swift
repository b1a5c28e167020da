//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// When the allocator may be asked what lies free.
///
/// Mostly that takes microseconds, but 35 ms with 640,000 free chunks scattered over the heap, whose locks it holds
/// meanwhile. So a census takes a twentieth of the time at most and is taken ten times a second at most; at the brink,
/// where a wrong account evicts everything or gets the process killed, half of the time at most and no more often than
/// once in 5 ms.
struct CensusPacing: Sendable {
    private var begin: UInt64?
    private var end: UInt64 = 0

    /// Whether a census may begin at `now` (monotonic nanoseconds). If so, it has begun.
    mutating func begins(at now: UInt64, isUrgent: Bool) -> Bool {
        if let begin {
            let took = end &- begin
            let distance = isUrgent ? max(5_000_000, took) : max(100_000_000, 19 * min(took, 1_000_000_000))
            guard now &- end >= distance else { return false }
        }
        begin = now
        end = now
        return true
    }

    /// Takes note of when the census was done.
    mutating func finished(at now: UInt64) { end = now }
}
