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

    /// Looks that find nothing new after which usage rests: 40 ms near the mark.
    private static let mostQuietLooks: UInt64 = 7

    private var used = 0
    private var inserted = 0
    private var last: UInt64?
    private var quietLooks: UInt64 = 0
    /// The highest usage at which grants were revoked, since usage was last below the mark.
    private var highest = 0

    /// The highest usage at which it rested and room was made, since usage was last below the mark.
    private var highestRest = 0

    /// Whether nothing was inserted since the look before the last.
    private(set) var isQuiet = false

    /// Takes note of a look after `inserted` bytes in all, while `unreported` more may have been; returns whether a
    /// burst is under way.
    mutating func note(_ look: AdmissionLedger.Look, inserted: Int, unreported: Int, now: UInt64) -> Bool {
        defer { (used, self.inserted, last) = (look.used, inserted, now) }
        guard let last else { return false }
        let growth = look.used - used
        isQuiet = inserted == self.inserted
        quietLooks = isQuiet && abs(growth) < 1 << 18 ? min(quietLooks + 1, Self.mostQuietLooks) : 0
        let rise = growth - (inserted - self.inserted) - (isQuiet ? 0 : unreported)
        return look.used > look.marks.goal && rise > 1 << 20
            && Double(rise) > Double(now &- last) * Self.burstSpeed
    }

    /// Takes note of a look and says whether what was granted must be asked for again: usage is further beyond the mark
    /// than insertions carry it by themselves, and further than it was then already.
    ///
    /// Where values of many ages share their pages the allocator cannot return what was evicted, and usage stays there
    /// however small the grants are. Each millisecond revoked, 128 shards then asked at every second insertion, and a
    /// full cache took 20,000 to 90,000 insertions a second, a twentieth.
    mutating func exceedsPlay(_ look: AdmissionLedger.Look) -> Bool {
        if look.untilMark >= 0 { highest = 0 }
        guard look.untilMark < -look.marks.play, look.used > highest else { return false }
        highest = look.used
        return true
    }

    /// Takes note of a look and says whether room is to be made because usage rests beyond the mark, and further than
    /// it did when that was tried before.
    ///
    /// While caches are filled, what lies free is room for the insertions to come, and evicting more would empty them.
    /// At rest nobody fills it, and a burst finds less free than was promised: of processes with 100 caches that two
    /// threads had filled in 64 MiB, 6 of 12 were killed by a quarter of that after 300 ms in which nothing ran.
    mutating func restsBeyondMark(_ look: AdmissionLedger.Look) -> Bool {
        if look.untilMark >= 0 { highestRest = 0 }
        let isRest = quietLooks == Self.mostQuietLooks
        guard isRest, look.untilMark < -look.marks.leastRelief, look.used > highestRest else { return false }
        highestRest = look.used
        return true
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
