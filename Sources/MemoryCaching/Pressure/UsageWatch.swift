//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure

/// What the governor's thread sees of usage from look to look: whether it moves, and whether something else than
/// insertions takes memory fast. A pure value.
struct UsageWatch: Sendable {
    /// Nanoseconds between two looks near the mark: a look took 19 to 21 µs with its wake-up, 2 % of a processor
    /// while usage moves and a quarter of a percent while it rests.
    static let shortest: UInt64 = 1_000_000
    static let longestNearMark: UInt64 = 8_000_000
    /// Elsewhere a full cache in a process that rests wakes it ten times a second.
    private static let longest: UInt64 = 100_000_000
    /// Bytes a nanosecond beyond which a rise is a burst: a fifth of what memset into fresh pages takes.
    private static let burstSpeed = 0.5

    private var used = 0
    private var inserted = 0
    private var last: UInt64?
    private var quietLooks: UInt64 = 0

    /// Whether nothing was inserted since the look before the last.
    private(set) var isQuiet = false

    /// Takes note of a look after `inserted` bytes in all, while `unreported` more may have been; returns whether a
    /// burst is under way.
    mutating func note(_ look: AdmissionLedger.Look, inserted: Int, unreported: Int, now: UInt64) -> Bool {
        defer { (used, self.inserted, last) = (look.used, inserted, now) }
        guard let last else { return false }
        let growth = look.used - used
        isQuiet = inserted == self.inserted
        quietLooks = isQuiet && abs(growth) < 1 << 18 ? min(quietLooks + 1, 7) : 0
        let rise = growth - (inserted - self.inserted) - (isQuiet ? 0 : unreported)
        return look.used > look.marks.goal && rise > 1 << 20
            && Double(rise) > Double(now &- last) * Self.burstSpeed
    }

    /// Nanoseconds until the next look: at once while usage is beyond three quarters of the mark and moves. Elsewhere,
    /// until a burst from here could reach the brink. Twice as long after each look that found nothing new.
    func interval(_ look: AdmissionLedger.Look) -> UInt64 {
        if look.used > look.marks.watched {
            return min(Self.shortest << quietLooks, Self.longestNearMark)
        }
        let respite = max(look.respite, Self.shortest)
        return max(respite, min(respite << quietLooks, Self.longest))
    }
}
