//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// When a level is left again: later than it was reached, and one step a time.
///
/// Kernel events say that pressure is, never that it is over, and come once a window at most (2 s for the triggers used
/// here). So an event holds its level for a while; after that usage decides, and it must have fallen well below where
/// it raised the level. Without this a cache that gives way at 15/16 and refills would be told to give way again at
/// every turn.
package struct PressureHysteresis: Sendable {
    /// The level that all evidence together makes.
    package private(set) var level = MemoryPressureLevel.normal
    private var heldSince: UInt64 = 0
    private var hold: UInt64 = 0

    /// How long each step down takes at least.
    private static let step: UInt64 = 1_000_000_000

    package init() {}

    /// Takes note of an event that means `level`, to be held for `hold` nanoseconds from `now`.
    package mutating func report(_ reported: MemoryPressureLevel, at now: UInt64, holdFor hold: UInt64) {
        guard reported >= level, reported > .normal else { return }
        level = reported
        heldSince = now
        self.hold = hold
    }

    /// Takes note of usage, `used` of `limit`, at `now`.
    package mutating func sample(used: Int, limit: Int, at now: UInt64) {
        let byUsage = Self.level(used: used, limit: limit, from: level)
        if byUsage > level {
            level = byUsage
            heldSince = now
            hold = Self.step
        } else if byUsage < level, now &- heldSince >= hold {
            // Also when the clock has jumped back: the difference wraps.
            level = max(byUsage, MemoryPressureLevel(rawValue: level.rawValue - 1) ?? .normal)
            heldSince = now
            hold = Self.step
        }
    }

    /// Leaves a level when its hold is over, one step a time, whatever usage is.
    package mutating func expire(at now: UInt64) {
        guard level > .normal, now &- heldSince >= hold else { return }
        level = MemoryPressureLevel(rawValue: level.rawValue - 1) ?? .normal
        heldSince = now
        hold = Self.step
    }

    private static func level(used: Int, limit: Int, from level: MemoryPressureLevel) -> MemoryPressureLevel {
        let marks = MemoryMarks(limit: limit)
        if used >= marks.critical - (level == .critical ? marks.levelMargin : 0) { return .critical }
        if used >= marks.warning - (level >= .warning ? marks.levelMargin : 0) { return .warning }
        return .normal
    }
}
