//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Order of use, which `NSCache` keeps. Each shard has its own entries in a queue, in exact order. Whose head is the
// oldest of all follows from L, which each move raises by 1: an entry's height is the L of its last move and 1. While a
// shard's head is among the oldest, as the marks of all shards say (`Shard+OldestMarks`), it takes its own; else it
// looks at the heads of all. A tenth is promised.
//
// All of this must hold for the entries that are left of a cache that was a thousand times as large, and after any
// number of uses. So each use moves the entry, L rises with each move and by the same, and nothing is measured in L that
// is meant in entries: what is left of a large cache lies denser than what came since. A use of what was moved among the
// last 28th of the moves once moved nothing. Hits were faster for it: with two threads by 8 to 16 %, with one and a
// million objects by 10 % (AMD EPYC, medians of five). But what was used last of all was evicted before a thousand
// others where a cache shrank to a thousandth.
extension Shard {
    /// Moves for which L is raised at once where threads wait for each other: a 64th of the entries at most, which a tenth
    /// has room for besides.
    @inlinable
    @inline(always)
    var movesAtOnce: UInt16 { storage.held >= 1024 ? 16 : storage.held >= 256 ? 4 : 1 }

    /// Raises L, which counts moves. As a `Double` it does so exactly for 2⁵³ of them.
    @inlinable
    @inline(always)
    mutating func tick(moves: UInt16) {
        inflation = policy.pointee.advanceInflation(beyond: inflation, by: Double(moves))
    }

    /// Moves an entry in order of use to the end of its queue. All of it is compiled into one function that knows how
    /// large an entry is: as four functions it took twice the instructions.
    @inlinable
    @inline(never)
    mutating func moveToEnd(_ slot: UInt32) {
        noteMove()
        let view = storage.view
        let next = view[slot].pointee.next
        if view[slot].pointee.previous == 0, next != 0 {
            // Who asks for the entries in turn always moves the head, and asks for the next one soon. With the entry
            // behind it, 100,000 numbers took 50 ns each instead of 72 (AMD EPYC); with its key, strings in shuffled
            // order that are equal to the keys, 300 instead of 430 (Intel Xeon, in a slow hour).
            prefetch(view[view[next].pointee.next])
            storage.prefetchKey(of: next)
        }
        let height = heightOfMove(at: inflation)
        view[slot].pointee.info.digits = height.digits
        passMark(slot)
        order.moveToEnd(slot, height: height.coarse, in: view)
        if isFew { publish() }
    }

    /// Whether the order of this shard alone says little. Such a shard publishes each change, and looks at the others
    /// before each victim.
    @inlinable
    @inline(always)
    var isFew: Bool { storage.count < Int(few) }

    /// A move to the end of the order of use. L rises with each, so that what was used later stands higher, in whichever
    /// shard it is: a cache of 100,000 entries of which the last 50 are left must know the order of those.
    ///
    /// But all shards write L. Where threads wait for each other it rises by up to sixteen moves at a time: what they
    /// do at once has no order, and the line of L would go back and forth with each move.
    @inlinable
    @inline(always)
    mutating func noteMove() {
        if inflation - base > 0x1p36 { rebase(by: Float(inflation - base).nextDown) }
        if isContended || contendedMoves > 0 { tickContended() } else { tick(moves: 1) }
    }

    /// Whether nothing has been moved in the whole cache since the entry was: it stands where it would be moved to.
    @inlinable
    @inline(always)
    mutating func wasMovedLast(_ slot: UInt32) -> Bool {
        // Asked first, because it lies beside what is known already.
        let meta = storage.view[slot]
        guard meta.pointee.next == 0 else { return false }
        let height = heightOfMove(at: policy.pointee.inflation)
        return meta.pointee.height == height.coarse && meta.pointee.info.digits == height.digits
    }

    /// The height of an entry that is moved while L is as given.
    @inlinable
    @inline(always)
    func heightOfMove(at inflation: Double) -> FineHeight { FineHeight(inflation - base + 1) }

    /// The height of the entry at `slot` above the base; infinite of none.
    @inlinable
    func fineHeight(of slot: UInt32) -> Double {
        slot == 0 ? .infinity : FineHeight(of: storage.view[slot].pointee).value
    }

    /// The entry to go next for `cause`, and its height above the base: 0, and infinite, where there is none.
    @inlinable
    mutating func leastByUse(for cause: RemovalCause) -> (slot: UInt32, height: Double) {
        let costly = order.costly.least
        let height = fineHeight(of: costly)
        if cause == .costLimit { return (costly, height) }
        let costless = order.costless.least
        let other = fineHeight(of: costless)
        return other < height ? (costless, other) : (costly, height)
    }

    /// Whether entries are in order of use.
    @inlinable
    @inline(always)
    var isByUse: Bool { few > 64 }

    /// A wait counts for 64 moves. Less than three of them at a time are no reason: the governor looks at shards, too.
    @inlinable
    @inline(never)
    mutating func tickContended() {
        if isContended, contendedMoves < 256 { contendedMoves &+= 64 }
        let movesAtOnce = contendedMoves > 128 ? movesAtOnce : 1
        if contendedMoves % movesAtOnce == 0 {
            tick(moves: movesAtOnce)
        } else {
            // What other shards have moved since counts here, too. Beside all moves, to read the line cost nothing that
            // could be measured.
            inflation = max(inflation, policy.pointee.inflation)
        }
        contendedMoves &-= 1
    }

    /// Whether whoever has the lock, who asks, had to wait for it.
    @inlinable
    @inline(always)
    var isContended: Bool {
        mutating get {
            withUnsafeMutablePointer(to: &self) { ShardLock(guarding: UnsafeMutableRawPointer($0)).wasContended }
        }
    }
}
