//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure

/// One spell of memory pressure: from the first level above normal to normal again.
///
/// Each level leaves the caches a fraction of what they held when it was reached. That is a ceiling, and it stays: what
/// was let go does not come back before the level is normal. Pressure that goes on lowers it again, once a second at
/// most, because memory that was just let go takes that long to be seen by whoever reports the pressure.
struct PressureEpisode: Sendable {
    /// Which part of what they hold the caches keep. A quarter at a warning is what systemd's guidance calls "trim",
    /// and what measured well elsewhere; dropping everything at the first warning costs more loads than it saves
    /// memory. At `critical` somebody is about to be killed: a quarter is left, so that what is worth most survives.
    static func keptFraction(_ level: MemoryPressureLevel) -> Double {
        switch level {
        case .normal: 1
        case .warning: 0.75
        case .critical: 0.25
        }
    }

    private static let secondCut: UInt64 = 1_000_000_000

    private(set) var level = MemoryPressureLevel.normal
    /// Bytes that the caches may hold together while pressure lasts.
    private(set) var ceiling: Int?
    private var lastCut: UInt64 = 0
    private var lastMeasured: UInt64 = 0

    /// Takes note of `level` being reported at `now` (monotonic nanoseconds) while the caches hold `held` bytes;
    /// returns how many of them are to go.
    mutating func report(_ level: MemoryPressureLevel, held: Int, now: UInt64) -> Int {
        defer { self.level = level }
        guard level > .normal else {
            ceiling = nil
            return 0
        }
        let isWorse = level > self.level
        // A clock that jumps back counts as a second gone.
        let goesOn = level == self.level && now &- lastCut >= Self.secondCut
        if isWorse || goesOn {
            ceiling = min(ceiling ?? .max, Int(Double(held) * Self.keptFraction(level)))
            lastCut = now
        }
        return max(0, held - (ceiling ?? held))
    }

    /// The ceiling, and whether what the caches hold should be measured against it: every 10 ms, until it is found to
    /// have been reached.
    mutating func ceilingAndWhetherToMeasure(at now: UInt64) -> (ceiling: Int?, measures: Bool) {
        let measures = now &- lastMeasured >= 10_000_000
        if measures { lastMeasured = now }
        return (ceiling, measures)
    }
}
