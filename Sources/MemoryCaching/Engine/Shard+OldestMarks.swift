//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// An entry of a queue in order of use, before which there is at most a sixteenth of that queue.
@usableFromInline
struct OldestMark {
    /// 0 where none is known.
    @usableFromInline var slot: UInt32 = 0
    /// With fewer entries in the queue, what is before the mark may be more than a fourteenth of it.
    @usableFromInline var leastCount: UInt32 = 0

    @inlinable
    init() {}
}

// How far the oldest entries go. In each shard there is a mark at most a sixteenth behind the head of each queue, and
// its height is published. What is no higher than all that is published is among the oldest tenth, whatever was used
// how often: at most so many in each shard are older.
//
// What is published may be out of date and holds all the same. Whatever comes into a queue or moves in it comes to its
// end; so before the height of a mark there can only be fewer entries than there were, and before the next one as many.
// Only where many entries leave from behind are those before a mark a larger part of all; then it is found anew.
//
// This takes the place of guesses from how far heights lie apart. Any such guess went wrong where few entries were used
// often before or after many others: up to 97 % of all were older than a victim.
extension Shard {
    /// A mark stands behind so many entries at most. To find one the queue is walked from its head, in one critical
    /// section; one that has been found moves on by an entry for each that leaves before it.
    @inlinable
    @inline(always)
    static var mostBeforeMark: UInt32 { 128 }

    @inlinable
    @inline(always)
    func latestVictim(for cause: RemovalCause) -> Double {
        cause == .costLimit ? latestCostlyVictim : latestVictim
    }

    /// Entries may go for `cause` up to the height that is returned, until it is asked for again: at most a tenth of all
    /// entries is older. Reads what all shards publish, from `first` on. Not of an only shard.
    @inlinable
    mutating func allowVictims(for cause: RemovalCause, _ first: UnsafeMutablePointer<Atomic<UInt64>>) -> Double {
        let count = siblingCount
        let marks = first + count &* 2
        var least = Double.infinity.bitPattern
        // Bits of doubles that are not negative, and no height is, compare as the doubles do.
        for index in 0..<count {
            least = min(least, marks[Self.publishedPlace(of: index, for: cause)].load(ordering: .relaxed))
        }
        let height = Double(bitPattern: least)
        if cause == .costLimit { latestCostlyVictim = height } else { latestVictim = height }
        return height
    }

    /// Whether this shard has published that something older may go for `cause` than what is there.
    @inlinable
    mutating func hasPublishedLess(for cause: RemovalCause) -> Bool {
        guard let published else { return false }
        let height = published[Self.publishedPlace(of: 0, for: cause)].load(ordering: .relaxed)
        return height < leastHeight(for: cause).bitPattern
    }

    /// Publishes the heights of the marks, behind those of the heads of all shards.
    @inlinable
    mutating func publishMarks(_ published: UnsafeMutablePointer<Atomic<UInt64>>) {
        let (costlyHead, costlessHead) = (order.costly.least, order.costless.least)
        costlyMark = mark(costlyMark, from: costlyHead, count: UInt32(storage.count) &- costlessHeld)
        costlessMark = mark(costlessMark, from: costlessHead, count: costlessHeld)
        let costly = height(of: costlyMark, or: costlyHead)
        let costless = height(of: costlessMark, or: costlessHead)
        let marks = published + siblingCount &* 2
        let ofAll = marks + Self.publishedPlace(of: 0, for: .memoryPressure)
        let ofCostly = marks + Self.publishedPlace(of: 0, for: .costLimit)
        let all = min(costly, costless)
        if ofAll.pointee.load(ordering: .relaxed) != all { ofAll.pointee.store(all, ordering: .relaxed) }
        if ofCostly.pointee.load(ordering: .relaxed) != costly { ofCostly.pointee.store(costly, ordering: .relaxed) }
    }

    /// The mark of a queue of `count` entries, which begins with `head`: as it is, or found anew where it has been
    /// passed, or the queue has become twice as long. None where it would be the head.
    @inlinable
    func mark(_ mark: OldestMark, from head: UInt32, count: UInt32) -> OldestMark {
        let before = isFew ? 0 : min(Self.mostBeforeMark, count / 16)
        if before == 0 || head == 0 { return OldestMark() }
        if mark.slot != 0, mark.slot != head, mark.leastCount > 7 &* before { return mark }
        return findMark(behind: before, from: head)
    }

    @inlinable
    @inline(never)
    func findMark(behind before: UInt32, from head: UInt32) -> OldestMark {
        let view = storage.view
        var mark = OldestMark()
        mark.slot = head
        mark.leastCount = 14 &* before
        for _ in 0..<before { mark.slot = view[mark.slot].pointee.next }
        return mark
    }

    /// The bits of the height of `mark`, or of `head` where there is no mark, absolute.
    @inlinable
    func height(of mark: OldestMark, or head: UInt32) -> UInt64 {
        max(0, base + fineHeight(of: mark.slot == 0 ? head : mark.slot)).bitPattern
    }

    // MARK: What becomes of marks

    /// The entry at `slot` leaves its queue, or goes to its end: a mark there moves on.
    @inlinable
    @inline(always)
    mutating func passMark(_ slot: UInt32) {
        if slot == costlyMark.slot { costlyMark.slot = storage.view[slot].pointee.next }
        if slot == costlessMark.slot { costlessMark.slot = storage.view[slot].pointee.next }
    }

    /// Takes the entry at `slot` out of its queue.
    @inlinable
    @inline(always)
    mutating func unlink(_ slot: UInt32) {
        if isByUse { passMark(slot) }
        order.unlink(slot, in: storage.view)
    }

    /// An entry with the flags `info` has come.
    @inlinable
    @inline(always)
    mutating func noteArrival(_ info: EntryInfo) { if info.has(EntryInfo.costless) { costlessHeld &+= 1 } }

    /// An entry with the flags `info`, which stood at `height` above the base, has left.
    @inlinable
    @inline(always)
    mutating func noteDeparture(_ info: EntryInfo, height: Double) {
        if info.has(EntryInfo.costless) {
            costlessHeld &-= 1
            if costlessMark.slot != 0 { costlessMark.slot = mark(costlessMark.slot, after: height) }
            if costlessHeld < costlessMark.leastCount { findMarksAnew() }
        } else {
            if costlyMark.slot != 0 { costlyMark.slot = mark(costlyMark.slot, after: height) }
            if UInt32(storage.count) &- costlessHeld < costlyMark.leastCount { findMarksAnew() }
        }
    }

    /// Publishes what can go where the entry at `slot` has come into an empty queue: of that the others know that nothing
    /// can. Not where an entry that an insertion spares goes back into its queue, which would be looked at for ever.
    @inlinable
    @inline(always)
    mutating func publishFirst(_ slot: UInt32) { if storage.view[slot].pointee.previous == 0 { publish() } }

    /// An entry costs something from now on, or nothing, as `info` says: it has gone to the other queue.
    @inlinable
    @inline(never)
    mutating func noteChange(to info: EntryInfo) {
        costlessHeld = info.has(EntryInfo.costless) ? costlessHeld &+ 1 : costlessHeld &- 1
        let costlyHeld = UInt32(storage.count) &- costlessHeld
        if costlessHeld < costlessMark.leastCount || costlyHeld < costlyMark.leastCount { findMarksAnew() }
    }

    /// Where the mark at `slot` is when an entry has left that stood at `height`: one further on if that was before it.
    @inlinable
    @inline(always)
    func mark(_ slot: UInt32, after height: Double) -> UInt32 {
        guard height < fineHeight(of: slot) else { return slot }
        let next = storage.view[slot].pointee.next
        // By the next time it has come from memory.
        prefetch(storage.view[next])
        return next
    }

    /// So many entries have left that those before a mark may be more than a fourteenth. What is known of the others,
    /// which will have lost as many, holds no more either.
    @inlinable
    @inline(never)
    mutating func findMarksAnew() {
        costlyMark = OldestMark()
        costlessMark = OldestMark()
        latestVictim = -.infinity
        latestCostlyVictim = -.infinity
        publish()
    }

    /// Forgets the order of all entries.
    @usableFromInline
    mutating func forgetOrder() {
        order.removeAll()
        costlessHeld = 0
        costlyMark = OldestMark()
        costlessMark = OldestMark()
    }
}
