//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What an insertion into one cache takes of real memory, learned from how usage grows.
///
/// Pessimistic first: an insertion counts as 64 KiB until there is evidence, so that four of them end a credit of
/// 256 KiB, whatever cost they claim. The evidence bounds from above: after n insertions with a growth of g bytes none
/// of them took more, on the mean, than (g + slack) / n; the slack is what the kernel charges in advance (64 pages a
/// processor, mm/memcontrol.c MEMCG_CHARGE_BATCH), so the bound falls quickly as n grows.
///
/// The estimate rises at once. It falls by windows in which nothing was evicted or returned, for insertions into holes
/// seem to cost nothing; and with what the process holds, which the allocator knows.
struct InsertionEstimate: Sendable {
    /// Bytes of a first insertion before anything is known.
    static let pessimistic = 65_536.0
    /// Growth below this says nothing: two processors' charge in advance, and the allocator's top pad.
    static let slack = 768.0 * 1024
    /// An entry, its key and the allocator's header cannot be less.
    static let least = 64.0
    /// Fewer entries prove nothing by what the process holds.
    static let fewEntries = 256

    /// Bytes of real memory that an insertion takes.
    private(set) var bytes = pessimistic
    /// Bytes of real memory that an entry takes which has been there for a while: what evicting it gives. Another than
    /// ``bytes`` where sizes have changed.
    var residentBytes: Double { meanHeld ?? bytes }
    private var meanHeld: Double?
    /// Whether an insertion has been measured since what the entries hold was last corrected.
    private(set) var isMeasuredAnew = false
    /// Bytes of real memory behind each byte of cost that the cache reports, 1 at least; 1 where costs are sizes in
    /// bytes or not given at all (the cache then reports the estimate itself).
    private(set) var bytesPerCost = 1.0
    private var meanCost = 0.0
    /// What ``bytesPerCost`` is at most by what was found to be held, since an insertion was last measured. Windows that
    /// were disturbed tell less: while memory was announced, 4,096 bytes of cost were taken for 56,000 of memory.
    private var heldPerCost: Double?
    /// Whether growth has ever been large enough to be a measurement rather than a bound.
    private(set) var isMeasured = false

    /// Sums of the undisturbed windows since the last measurement.
    private var pending = (insertions: 0.0, growth: 0.0)
    /// Sums of the disturbed windows since the pessimism was last lowered.
    private var disturbed = (insertions: 0.0, growth: 0.0)

    /// Learns from `insertions` with `costs` in sum, in whose time usage grew by `growth` bytes on their account.
    /// `isUndisturbed` says that nothing was evicted or returned meanwhile. `holes` bytes lay free before.
    ///
    /// What falls into holes is no growth. With many of them growth bounds an insertion by all that lay free besides,
    /// and measures nothing. Without that, values of 4 KiB that four threads inserted into a full cache were taken for
    /// anything from 64 bytes on, evictions took more than was meant, and the cache was emptied again and again.
    mutating func learn(insertions: Int, costs: Double, growth: Int, isUndisturbed: Bool, holes: Int = 0) {
        guard insertions > 0 else { return }
        let count = Double(insertions)
        let growth = Double(max(0, growth))
        meanCost += (costs / count - meanCost) / (meanCost == 0 ? 1 : 4)
        if isUndisturbed, Double(holes) > Self.slack {
            pending = (0, 0)
            bytes = min(bytes, (growth + Double(holes) + Self.slack) / count)
        } else if isUndisturbed {
            learn(count, growth)
        } else {
            pending = (0, 0)
            disturbed = (disturbed.insertions + count, disturbed.growth + growth)
            if growth > Self.slack, growth / count > bytes * 1.25 {
                measure(growth / count)
            } else if !isMeasured, disturbed.insertions >= 256 {
                // A cache born where memory is short never sees an undisturbed window. Its pessimism is lowered by
                // halves, to a kilobyte or to what it says itself; growth would raise it again.
                let growthOfEach = disturbed.growth / disturbed.insertions
                if growthOfEach < bytes / 4 { bytes = min(bytes, max(bytes / 2, 1024, meanCost)) }
                disturbed = (0, 0)
            }
        }
        bytes = max(bytes, Self.least)
        noteBytesPerCost()
    }

    private mutating func noteBytesPerCost() {
        let inserted = meanCost > 0 && isMeasured ? min(max(bytes / meanCost, 1), 1e6) : 1
        bytesPerCost = min(inserted, heldPerCost ?? inserted)
    }

    /// Bytes that `entries` without a cost, or others with `costs` in sum, are taken to hold: each what an insertion
    /// took, where that has been measured since the last correction.
    func expectedHeld(entries: Int, costs: Int) -> Double {
        Double(entries) * (isMeasuredAnew ? bytes : residentBytes) + Double(costs) * bytesPerCost
    }

    /// Corrects the estimate by what the cache's `entries` without a cost, or others with `costs` in sum, are found to
    /// hold: `held` bytes.
    mutating func correct(held: Double, entries: Int, costs: Int) {
        // Fewer are not those that the last mean was taken of: values that became large have displaced the small ones.
        if entries < Self.fewEntries {
            meanHeld = nil
        } else {
            isMeasuredAnew = false
            let mean = max(held / Double(entries), Self.least)
            meanHeld = mean
            // Entries that have come lately are as large as the mean at least where it has risen, and smaller where it
            // has fallen.
            if mean < bytes || mean > bytes * 1.25 {
                bytes = mean
                isMeasured = true
            }
        }
        if costs > 0 {
            heldPerCost = max(1, held / Double(costs))
            noteBytesPerCost()
        }
    }

    /// Takes note that `entries` without a cost hold no more than `mean` bytes each, as long as nothing is measured.
    mutating func bound(by mean: Double, entries: Int) {
        guard !isMeasured else { return }
        let mean = max(mean, Self.least)
        meanHeld = min(residentBytes, mean)
        // What a few hold says little of those to come.
        if entries >= Self.fewEntries { bytes = min(bytes, mean) }
    }

    private mutating func measure(_ measured: Double) {
        bytes = measured
        // A bound until now.
        if !isMeasured { meanHeld = nil }
        isMeasured = true
    }

    /// Bounds the estimate by all undisturbed growth since the last measurement, and measures once that is large.
    private mutating func learn(_ count: Double, _ growth: Double) {
        pending.insertions += count
        pending.growth += growth
        bytes = min(bytes, (pending.growth + Self.slack) / pending.insertions)
        // Twice the slack: what the kernel charged in advance is then a third of it at most.
        guard pending.growth > 2 * Self.slack else { return }
        let measured = pending.growth / pending.insertions
        measure(measured > bytes || !isMeasured ? measured : bytes + (measured - bytes) / 2)
        isMeasuredAnew = true
        heldPerCost = nil
        pending = (0, 0)
    }

    /// What each insertion is charged at least: the estimate itself where no costs are given or they are no sizes in
    /// bytes, an eighth of it where they are, so that a crowd of small ones cannot pass for nothing.
    var leastCharge: Int { Int(meanCost * 2 >= bytes ? bytes / 8 : bytes) }

    /// Bytes of real memory that `insertions` with `costs` in sum are expected to take.
    func expected(insertions: Int, costs: Int) -> Int {
        Int(max(Double(costs), Double(insertions) * bytes))
    }
}
