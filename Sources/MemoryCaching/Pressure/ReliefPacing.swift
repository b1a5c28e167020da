//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure

/// When to try again to bring usage back, where that brought little. A pure value.
///
/// Memory that other processes hold may stay for hours, and nothing that caches let go of brings usage back then. Room
/// made each millisecond took 7 to 9 % of a processor in a process that rested; every grant was revoked each time, so
/// that each insertion asked (49 µs for 100 bytes); and at the brink each insertion waited for a trim (160 µs). So an
/// attempt that brought less than it is worth is repeated only when usage has risen, or after a pause.
struct ReliefPacing: Sendable {
    /// Nanoseconds between two attempts that bring little: the longest distance between two looks. Content that somebody
    /// accessed then may be for sale now.
    static let pause: UInt64 = 100_000_000
    /// Such attempts take a tenth of the time at most, however long one takes.
    private static let distance: UInt64 = 9

    /// The last attempt, where it brought little.
    private var last: (used: Int, end: UInt64, pause: UInt64)?

    /// Takes note of an attempt from `begin` to `end` (monotonic nanoseconds) that brought `bytes` and found usage at
    /// `look` last.
    mutating func tried(_ look: AdmissionLedger.Look, bringing bytes: Int, from begin: UInt64, to end: UInt64) {
        guard bytes < look.marks.leastRelief else { return last = nil }
        last = (look.used, end, max(Self.pause, Self.distance * min(max(begin, end) - begin, 1_000_000_000)))
    }

    /// Takes note of a look: below the mark everything begins anew. What was tried before says nothing of caches that have
    /// been filled since.
    mutating func note(_ look: AdmissionLedger.Look) {
        if look.untilMark >= 0 { last = nil }
    }

    /// Whether another attempt may bring something at `now`.
    func mayHelp(_ look: AdmissionLedger.Look, now: UInt64) -> Bool {
        guard let last, look.used < look.marks.last else { return true }
        return look.used - last.used > look.marks.leastRelief || now &- last.end >= last.pause
    }
}
