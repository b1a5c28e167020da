//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// How many values a ``PurgeableStore`` holds, how many bytes they have, and how many of both it may hold: a ``Room``
/// whose costs are bytes, without stocks.
///
/// Room is drawn before a value is published and given back after a value has left the index, both under the lock of
/// the value's shard. So what is published never exceeds a limit, and a thread that waits holds no room: whatever is
/// drawn belongs to a value that can be evicted, or to a critical section that is about to end.
struct PurgeableRoom: ~Copyable {
    private let room = Room()
    private let limits: CacheLimits

    init(countLimit: Int, totalCostLimit: Int) {
        limits = CacheLimits(count: max(0, countLimit), cost: max(0, totalCostLimit))
    }

    /// Values at most; 0 is no limit. Who sets it evicts while ``exceedsCountLimit``.
    var countLimit: Int {
        get { limits.count.load(ordering: .relaxed) }
        nonmutating set { limits.count.store(max(0, newValue), ordering: .sequentiallyConsistent) }
    }

    /// Bytes at most; 0 is no limit. Who sets it evicts while ``exceedsCostLimit``.
    var totalCostLimit: Int {
        get { limits.cost.load(ordering: .relaxed) }
        nonmutating set { limits.cost.store(max(0, newValue), ordering: .sequentiallyConsistent) }
    }

    var exceedsCountLimit: Bool { room.exceeds(count: limits.count.load(ordering: .sequentiallyConsistent)) }
    var exceedsCostLimit: Bool { room.exceeds(cost: limits.cost.load(ordering: .sequentiallyConsistent)) }

    /// Values held. What is drawn can be more for a moment, before a drawer that passed a setter of the limit gives
    /// back; and less, before one that found a segment's values gone has taken their room for gone, too.
    var count: Int { held(room.places.load(ordering: .relaxed), countLimit) }

    /// Bytes held.
    var byteCount: Int { held(room.totalCost, totalCostLimit) }

    /// What is drawn: more than the limits while who set one evicts.
    var drawn: (count: Int, byteCount: Int) { (room.places.load(ordering: .relaxed), room.totalCost) }

    private func held(_ drawn: Int, _ limit: Int) -> Int { max(0, limit > 0 ? min(drawn, limit) : drawn) }

    /// Whether more values are held than `count`.
    func exceeds(count: Int) -> Bool { room.places.load(ordering: .relaxed) > max(0, count) }

    /// Whether more bytes are held than `byteCount`.
    func exceeds(byteCount: Int) -> Bool { room.totalCost > max(0, byteCount) }

    /// Draws room for a value of `byteCount` bytes, and its place too where `isNew`; if there is none, draws nothing
    /// and says what lacks.
    func draw(isNew: Bool, byteCount: Int) -> RemovalCause? {
        if isNew, !room.drawPlace(within: limits) { return .countLimit }
        if room.draw(cost: byteCount, within: limits) { return nil }
        if isNew { room.giveBack(places: 1, cost: 0) }
        return .costLimit
    }

    func giveBack(count: Int, byteCount: Int) { room.giveBack(places: count, cost: byteCount) }
}
