//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// The limits of a cache, as they were set.
@usableFromInline
struct CacheLimits: ~Copyable {
    /// Entries at most; 0 and less are no limit.
    @usableFromInline let count: Atomic<Int>
    /// Sum of costs at most; 0 and less are no limit.
    @usableFromInline let cost: Atomic<Int>
    /// Whether a large insertion is collecting room: others draw no limited cost meanwhile, and leave it one place.
    @usableFromInline let isReserved = Atomic<Bool>(false)

    init(count: Int, cost: Int) {
        self.count = Atomic(count)
        self.cost = Atomic(cost)
    }
}

/// The one record of a cache's room: how many places and how much cost have been handed out to its shards.
///
/// Room has one owner at a time: nobody, an entry, or (cost only) the stock of a shard. It changes hands under the lock
/// of a shard, and no thread takes any of it along when it unlocks. So no call waits for room that another call holds.
///
/// A draw exchanges the total and then reads the limit again; a setter stores the limit and then reads the total. Both
/// are sequentially consistent, so at least one of the two sees the other: either the draw gives its room back, or the
/// setter evicts. A setter also takes each shard's lock once in between, so that no draw within the old limit is under
/// way when it returns. Only the first shard of all may be made meanwhile, and not be seen.
///
/// Costs saturate. The total has a second word for carries out of 64 bits, which only costs near `Int.max` without a
/// limit reach; below a limit the sum fits one word.
///
/// Lies in the cache's first block, in cache lines of its own, behind the lock of large insertions. A cache that is
/// full only reads it: what an insertion needs, its victim has.
@usableFromInline
struct Room: ~Copyable {
    @usableFromInline let places = Atomic<Int>(0)
    @usableFromInline let cost = Atomic<UInt>(0)
    @usableFromInline let carries = Atomic<Int>(0)

    @usableFromInline
    init() {}

    /// The cost handed out, `Int.max` at most.
    @usableFromInline
    var totalCost: Int { carries.load(ordering: .relaxed) != 0 ? .max : Int(clamping: cost.load(ordering: .relaxed)) }

    /// Whether more places are handed out than `limit`; 0 and less are no limit.
    @usableFromInline
    func exceeds(count limit: Int) -> Bool { limit > 0 && places.load(ordering: .sequentiallyConsistent) > limit }

    /// Whether more cost is handed out than `limit`; 0 and less are no limit.
    @usableFromInline
    func exceeds(cost limit: Int) -> Bool {
        // Not by `totalCost`, which saturates at the highest limit there is.
        limit > 0
            && (cost.load(ordering: .sequentiallyConsistent) > UInt(bitPattern: limit)
                || carries.load(ordering: .sequentiallyConsistent) != 0)
    }

    /// Whether a place could be drawn.
    @inlinable
    func hasPlace(within limit: Int) -> Bool { limit <= 0 || places.load(ordering: .sequentiallyConsistent) < limit }

    /// Whether `amount` of cost could be drawn.
    @inlinable
    func has(cost amount: Int, within limit: Int) -> Bool {
        if limit <= 0 || amount <= 0 { return true }
        return amount <= limit && carries.load(ordering: .sequentiallyConsistent) == 0
            && cost.load(ordering: .sequentiallyConsistent) <= UInt(bitPattern: limit &- amount)
    }

    /// Draws the place of one entry, unless that would exceed the limit.
    @inlinable
    func drawPlace(within limits: borrowing CacheLimits, forLarge: Bool = false) -> Bool {
        let limit = limits.count.load(ordering: .relaxed)
        var held = places.load(ordering: .relaxed)
        if limit > 0 {
            // A large insertion needs one place at most, and others leave it that.
            let most = !forLarge && limits.isReserved.load(ordering: .relaxed) ? limit &- 1 : limit
            while true {
                if held >= most { return false }
                let (exchanged, now) = places.weakCompareExchange(
                    expected: held,
                    desired: held &+ 1,
                    ordering: .sequentiallyConsistent
                )
                held = now
                if exchanged { break }
            }
            held &+= 1
        } else {
            held = places.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
        }
        let present = limits.count.load(ordering: .sequentiallyConsistent)
        if present <= 0 || held <= present { return true }
        giveBack(places: 1, cost: 0)
        return false
    }

    /// Draws `amount` of cost, unless that would exceed the limit.
    @inlinable
    func draw(cost amount: Int, within limits: borrowing CacheLimits, forLarge: Bool = false) -> Bool {
        if amount == 0 { return true }
        let limit = limits.cost.load(ordering: .relaxed)
        var held = cost.load(ordering: .relaxed)
        if limit > 0 {
            if amount > limit || carries.load(ordering: .relaxed) != 0 { return false }
            if !forLarge, limits.isReserved.load(ordering: .relaxed) { return false }
            let most = UInt(bitPattern: limit &- amount)
            while true {
                if held > most { return false }
                let (exchanged, now) = cost.weakCompareExchange(
                    expected: held,
                    desired: held &+ UInt(bitPattern: amount),
                    ordering: .sequentiallyConsistent
                )
                held = now
                if exchanged { break }
            }
        } else {
            let (old, new) = cost.wrappingAdd(UInt(bitPattern: amount), ordering: .sequentiallyConsistent)
            if new < old { carries.wrappingAdd(1, ordering: .sequentiallyConsistent) }
        }
        let present = limits.cost.load(ordering: .sequentiallyConsistent)
        if present == limit || !exceeds(cost: present) { return true }
        giveBack(places: 0, cost: amount)
        return false
    }

    /// Gives back `count` places and `amount` of cost.
    @inlinable
    func giveBack(places count: Int, cost amount: Int) {
        if count != 0 { places.wrappingSubtract(count, ordering: .sequentiallyConsistent) }
        guard amount != 0 else { return }
        let (old, new) = cost.wrappingSubtract(UInt(bitPattern: amount), ordering: .sequentiallyConsistent)
        if new > old { carries.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    }
}
