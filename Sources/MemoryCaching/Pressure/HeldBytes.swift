//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Divides what the process is found to hold among its caches, whose entries' sizes are estimates. A pure value: no
/// lock, no clock, no system call.
///
/// One number says what all entries hold together, and says it again each time. So each time the estimates are moved as
/// little as brings their sum to that number: a cache's by its part of what is missing, in proportion to the square of
/// its entries. While the caches' shares vary, the sizes approach the true ones, whichever they began with.
///
/// Divided in proportion to what each was taken to hold, the sum came out right and the ratios stayed as they were: ten
/// caches of equal values, filled by a thread each, took theirs for anything from 64 bytes to 138,380 in the end. An
/// eviction of 32 KiB then took megabytes of some, and all ten together held from 0 to 59 MiB of 128, where one held
/// 83.
///
/// - SeeAlso: S. Kaczmarz, "Angenäherte Auflösung von Systemen linearer Gleichungen", 1937. As the normalized least
///   mean squares filter it follows what changes.
struct HeldBytes: Sendable {
    /// What one cache holds.
    struct Holding {
        var estimate: InsertionEstimate
        /// Entries without a cost, and the sum of the costs where entries have one.
        let entries: Int
        let costs: Int

        /// What the entries are taken to hold; nothing where they are few and their size is not known.
        var bytes: Double {
            isFew && costs <= 0 && !estimate.isMeasured ? 0 : estimate.expectedHeld(entries: entries, costs: costs)
        }
        fileprivate var weight: Double { isFew ? 0 : Double(entries) * Double(entries) }
        private var isFew: Bool { entries < InsertionEstimate.fewEntries }
    }

    /// Bytes that the process held beside all entries when those of a cache had been measured last; nil before.
    private var others: Double?

    /// Corrects the estimates of all caches, where the process holds `held` bytes, of which `before` were there before
    /// the first cache.
    mutating func correct(_ holdings: inout [Holding], held: Int, before: Int) {
        let held = Double(held)
        let expected = holdings.reduce(0) { $0 + $1.bytes }
        let weight = holdings.reduce(0) { $0 + $1.weight }
        let isMeasuredAnew = holdings.contains { $0.weight > 0 && $0.estimate.isMeasuredAnew }
        if isMeasuredAnew { others = max(0, held - expected) }
        // Half of it at most, for what was there may have gone: sizes that are taken for too large cost time, and those
        // that are taken for too small empty the caches. Where caches hold less than what was there, their sizes swing
        // therefore: of two that held 1 to 13 MB each beside 20 MB, one was off by more than a factor of two in 184 of
        // 1,000 simulated runs.
        let missing = held - (others ?? min(Double(before), held / 2)) - expected
        for index in holdings.indices {
            let holding = holdings[index]
            // A bound for those with costs: what they hold with their part of all else.
            let bytes =
                holding.costs > 0
                ? held * holding.bytes / max(1, expected)
                : holding.bytes + missing * holding.weight / max(1, weight)
            holdings[index].estimate.correct(held: bytes, entries: holding.entries, costs: holding.costs)
        }
    }
}
