//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What has come of one piece of a sweep.
@usableFromInline
struct SweptPiece {
    /// Entries that a sweep looks at or takes out in one critical section, and one insertion beside its own work: some
    /// microseconds.
    @usableFromInline static var mostEntries: Int { 32 }

    /// Slots that a sweep passes over in one critical section, 2 ns each.
    static var mostPassed: UInt32 { 2048 }

    /// Entries that the shard had before.
    @usableFromInline var held: Int
    /// Entries that the piece has taken out.
    @usableFromInline var removed: Int
    /// Whether nothing is left to take out.
    @usableFromInline var isDone: Bool

    @inlinable
    init(held: Int, removed: Int, isDone: Bool) {
        self.held = held
        self.removed = removed
        self.isDone = isDone
    }
}

/// Sweeps shards by turns, a piece of each at a time.
///
/// A thread that takes one lock again and again hardly ever leaves it to one that was woken for it: callers waited 100
/// to 230 ms for the sweep of a shard with a million entries.
///
/// A shard loses at most as many entries as it had at its first turn, and a piece more: a handler that puts back what
/// has expired must not keep the sweep going.
///
/// - Parameter piece: Sweeps a piece of a shard, which has its first turn or a further one; nil where there is no such
///   shard. Shards may be added meanwhile.
@usableFromInline
func sweepByTurns(_ piece: (_ shard: Int, _ isFirst: Bool) -> SweptPiece?) {
    var waiting: [(shard: Int, allowance: Int)] = []
    var newcomer = 0
    repeat {
        var left: [(shard: Int, allowance: Int)] = []
        for (shard, allowance) in waiting {
            guard let swept = piece(shard, false), !swept.isDone, swept.removed < allowance else { continue }
            left.append((shard, allowance - swept.removed))
        }
        while let swept = piece(newcomer, true) {
            if !swept.isDone, swept.removed < swept.held { left.append((newcomer, swept.held - swept.removed)) }
            newcomer += 1
        }
        waiting = left
    } while !waiting.isEmpty
}
