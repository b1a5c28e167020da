//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure

/// One spell of memory pressure: from the first level above normal to normal again.
///
/// Each level leaves the caches a fraction of what they held when it was reached. That is a ceiling, and it stays: what
/// was evicted does not come back before the level is normal. Pressure that goes on lowers it again, once a second at
/// most, because memory that was just released takes that long to be seen by whoever reports the pressure.
///
/// Two things keep a cache useful while pressure lasts. The ceiling is never below a ``floor(budget:)``, so that new
/// values always find room. And it is kept as entries and costs, not as bytes: sizes are learned while the pressure
/// lasts, and a ceiling reckoned with one size and compared with another would empty the caches or let them overflow.
struct PressureEpisode: Sendable {
    /// What one cache holds, and the sizes by which that is reckoned in bytes of real memory.
    struct Holding: Sendable, Equatable {
        /// Entries without a cost.
        var entries = 0.0
        var bytesPerEntry = 1.0
        /// The costs of all others, or bytes that the cache has counted itself.
        var costs = 0.0
        var bytesPerCost = 1.0

        var bytes: Double { (entries * bytesPerEntry + costs) * bytesPerCost }

        /// A part of it.
        static func * (holding: Holding, part: Double) -> Holding {
            var holding = holding
            holding.entries *= part
            holding.costs *= part
            return holding
        }
    }
    typealias Holdings = [ObjectIdentifier: Holding]

    /// What a level leaves of what the caches held when it was reached.
    struct Cut: Sendable, Equatable {
        /// Nil where the ceiling alone holds.
        fileprivate(set) var kept: Holdings?
        /// Bytes that may be inserted without asking, which the ceiling is to leave room for.
        var unspent = 0
    }

    /// Which part of what they hold the caches keep. A quarter at a warning is what systemd's guidance calls "trim",
    /// and what measured well elsewhere; dropping everything at the first warning costs more loads than it saves
    /// memory. At `critical` some process is about to be killed: a quarter is left, so that what is worth most
    /// survives.
    static func keptFraction(_ level: MemoryPressureLevel) -> Double {
        switch level {
        case .normal: 1
        case .warning: 0.75
        case .critical: 0.25
        }
    }

    /// What the ceiling is at least: half the distance between the level of a warning and the one that ends it (see
    /// `PressureHysteresis`), so that caches at the floor do not prolong the pressure. 2.25 MiB where that is less or
    /// unknown: three times the growth that says nothing of sizes, which may fill a third of it then.
    static func floor(budget: Int?) -> Int {
        max(MemoryMarks(limit: budget ?? 0).levelMargin / 2, Int(3 * InsertionEstimate.slack))
    }

    private static let secondCut: UInt64 = 1_000_000_000

    private(set) var level = MemoryPressureLevel.normal
    /// What each cache held at the cut that set the ceiling, times the part that may stay.
    private var kept: Holdings?
    private var floor = 0
    private var lastCut: UInt64 = 0
    /// Bytes that the caches hold at most, as far as measured and granted before, and bytes granted since.
    private var projected = 0.0
    private var granted = 0
    /// Bytes decided to be evicted that may be there still.
    private var beingEvicted = 0.0
    private var measurements = 0

    /// Bytes that the caches may hold together while pressure lasts.
    var ceiling: Int? { kept.map { max(Int(clamping: $0.bytes), floor) } }

    /// Takes note of `level` being reported at `now` (monotonic nanoseconds) while the caches hold `holdings`; returns
    /// how many bytes of them are to be evicted, and what that is to leave.
    mutating func report(
        _ level: MemoryPressureLevel,
        holdings: Holdings,
        floor: Int,
        now: UInt64
    ) -> (bytes: Int, cut: Cut) {
        defer { self.level = level }
        guard level > .normal else {
            kept = nil
            return (0, Cut())
        }
        self.floor = floor
        reprice(holdings)
        let held = max(0, holdings.bytes - beingEvicted)
        let isWorse = level > self.level
        // A clock that jumps back counts as a second gone.
        let goesOn = level == self.level && now &- lastCut >= Self.secondCut
        let part = Self.keptFraction(level)
        if isWorse || goesOn {
            if kept.map({ held * part < $0.bytes }) ?? true { kept = holdings.mapValues { $0 * part } }
            lastCut = now
        }
        // Reaching a level takes its part of the smallest cache, too; pressure that goes on stops at the floor.
        let left = isWorse ? part * held / max(1, holdings.bytes) : 0
        let cut = Cut(kept: isWorse ? holdings.mapValues { $0 * left } : nil)
        let allowed = min(Double(ceiling ?? .max), cut.kept?.bytes ?? .infinity)
        return (evict(max(0, held - allowed), of: held), cut)
    }

    /// How many bytes of `holdings` are beyond the ceiling, and beyond what `cut` leaves, by their sizes. An eviction
    /// asks when sizes have changed: what was decided in bytes was a part of the entries.
    mutating func excess(of holdings: Holdings, beyond cut: Cut) -> Int {
        guard kept != nil else { return 0 }
        reprice(holdings)
        let allowed = cut.kept.map { Self.reprice($0, holdings).bytes } ?? .infinity
        return Int(clamping: holdings.bytes + Double(cut.unspent) - min(Double(ceiling ?? .max), allowed))
    }

    /// How much of `grant` an insertion gets while `outstanding` bytes are granted and not yet spent, and which
    /// measurement it has to make before, if one is due.
    ///
    /// All grants together stay below an eighth of the ceiling. A measurement visits every entry of some caches, so it
    /// is made where the ceiling could have been passed, and once for each 64th of it that has been granted.
    mutating func admit(_ grant: Int, outstanding: Int, overrun: Int) -> (grant: Int, measurement: Int?) {
        guard let ceiling else { return (grant, nil) }
        let grant = min(grant, max((ceiling / 8 - outstanding) / 8, 4 << 10))
        granted += grant + overrun
        guard granted >= ceiling / 64, projected + Double(granted) > Double(ceiling) else { return (grant, nil) }
        projected += Double(granted)
        granted = 0
        return (grant, measurements)
    }

    /// Takes note of what the measurement found, while `unspent` bytes may be inserted without asking; returns how many
    /// bytes are to be evicted. Nothing where another thread has decided meanwhile, or carried out its decision.
    mutating func finish(measurement: Int, _ holdings: Holdings, floor: Int, unspent: Int) -> Int {
        guard measurement == measurements, kept != nil else { return 0 }
        self.floor = floor
        reprice(holdings)
        let held = max(0, holdings.bytes - beingEvicted)
        let excess = min(held, held + Double(unspent) - Double(ceiling ?? .max))
        defer { projected += Double(unspent) }
        return evict(max(0, excess), of: held)
    }

    /// Takes note that an eviction has been carried out, as far as there was something to evict. Who measures at this
    /// moment may have seen what is gone now, and must not decide by it.
    mutating func evicted(_ bytes: Int) {
        measurements += 1
        beingEvicted = max(0, beingEvicted - Double(bytes))
    }

    private mutating func evict(_ bytes: Double, of held: Double) -> Int {
        measurements += 1
        granted = 0
        projected = held - bytes
        beingEvicted += bytes.rounded(.down)
        return Int(clamping: bytes)
    }

    /// Reckons what may be kept by the sizes that are known now. Caches that are gone keep their last.
    private mutating func reprice(_ holdings: Holdings) {
        kept = kept.map { Self.reprice($0, holdings) }
    }

    private static func reprice(_ kept: Holdings, _ holdings: Holdings) -> Holdings {
        kept.merging(holdings.filter { kept[$0.key] != nil }) { part, holding in
            var part = part
            (part.bytesPerEntry, part.bytesPerCost) = (holding.bytesPerEntry, holding.bytesPerCost)
            return part
        }
    }
}

extension PressureEpisode.Holdings {
    /// Bytes of real memory.
    var bytes: Double { values.reduce(0) { $0 + $1.bytes } }
}

extension Int {
    /// The whole part of `bytes`, or the nearest there is.
    fileprivate init(clamping bytes: Double) { self = Int(Swift.min(Swift.max(bytes, 0), 1e18)) }
}
