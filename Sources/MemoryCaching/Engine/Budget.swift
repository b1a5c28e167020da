//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// How many entries and how much cost the whole cache holds, and may hold.
///
/// An entry is paid for before it goes in: room is reserved in these totals, and where there is none, an eviction
/// hands over the room of its victim. So the totals never exceed the limits, not for a moment, with any number of
/// threads and shards.
///
/// Costs saturate. The total has a second word for carries out of 64 bits, which only costs near `Int.max` without a
/// limit ever reach; below a limit the sum fits one word.
@usableFromInline
struct Budget: ~Copyable {
    @usableFromInline let entries = Atomic<Int>(0)
    @usableFromInline let cost = Atomic<UInt>(0)
    @usableFromInline let carries = Atomic<Int>(0)
    /// As set; 0 and less are no limit.
    @usableFromInline let countLimit: Atomic<Int>
    @usableFromInline let costLimit: Atomic<Int>

    @usableFromInline
    init(countLimit: Int, costLimit: Int) {
        self.countLimit = Atomic(countLimit)
        self.costLimit = Atomic(costLimit)
    }

    /// The sum of costs, `Int.max` at most.
    @usableFromInline
    var totalCost: Int { carries.load(ordering: .relaxed) != 0 ? .max : Int(clamping: cost.load(ordering: .relaxed)) }

    /// Whether there are more entries than `limit`; 0 and less are no limit.
    @usableFromInline
    func exceeds(count limit: Int) -> Bool { limit > 0 && entries.load(ordering: .relaxed) > limit }

    /// Whether costs add up to more than `limit`; 0 and less are no limit.
    @usableFromInline
    func exceeds(cost limit: Int) -> Bool {
        // Not by `totalCost`, which saturates at the highest limit there is.
        limit > 0
            && (carries.load(ordering: .relaxed) != 0 || cost.load(ordering: .relaxed) > UInt(bitPattern: limit))
    }

    /// Reserves room for one entry, unless that would exceed the limit.
    @inlinable
    func reserveEntry() -> Bool {
        let limit = countLimit.load(ordering: .relaxed)
        if limit <= 0 {
            entries.wrappingAdd(1, ordering: .relaxed)
            return true
        }
        var held = entries.load(ordering: .relaxed)
        while held < limit {
            let (exchanged, now) = entries.weakCompareExchange(expected: held, desired: held &+ 1, ordering: .relaxed)
            if exchanged { return true }
            held = now
        }
        return false
    }

    /// Reserves `amount` of cost, unless that would exceed the limit.
    @inlinable
    func reserve(cost amount: Int) -> Bool {
        if amount == 0 { return true }
        let limit = costLimit.load(ordering: .relaxed)
        if limit <= 0 {
            let (old, new) = cost.wrappingAdd(UInt(bitPattern: amount), ordering: .relaxed)
            if new < old { carries.wrappingAdd(1, ordering: .relaxed) }
            return true
        }
        if amount > limit || carries.load(ordering: .relaxed) != 0 { return false }
        let most = UInt(bitPattern: limit &- amount)
        var held = cost.load(ordering: .relaxed)
        while held <= most {
            let (exchanged, now) = cost.weakCompareExchange(
                expected: held,
                desired: held &+ UInt(bitPattern: amount),
                ordering: .relaxed
            )
            if exchanged { return true }
            held = now
        }
        return false
    }

    /// Gives back the room of `count` entries and of `amount` of cost.
    @inlinable
    func release(entries count: Int, cost amount: Int) {
        if count != 0 { entries.wrappingSubtract(count, ordering: .relaxed) }
        guard amount != 0 else { return }
        let (old, new) = cost.wrappingSubtract(UInt(bitPattern: amount), ordering: .relaxed)
        if new > old { carries.wrappingSubtract(1, ordering: .relaxed) }
    }
}

/// Room in a ``Budget`` that a call holds for the moment: reserved, or taken over from victims.
@usableFromInline
struct HeldRoom {
    @usableFromInline var entries = 0
    /// At most two words' worth: `Int.max` each of a victim and of what it makes room for.
    @usableFromInline var cost: UInt = 0
    @inlinable init() {}

    /// Takes over the room of an entry of `cost`; of places, no more than the one that will be needed.
    @inlinable
    mutating func takeOver(cost amount: Int, in budget: borrowing Budget) {
        if entries == 0 { entries = 1 } else { budget.release(entries: 1, cost: 0) }
        let (sum, overflow) = cost.addingReportingOverflow(UInt(bitPattern: amount))
        if overflow { budget.release(entries: 0, cost: amount) } else { cost = sum }
    }

    /// Turns what is held into exactly the room of one entry of `amount`; what is too much goes back. Says what is
    /// missing, if anything is.
    @inlinable
    mutating func settle(for amount: Int, in budget: borrowing Budget) -> RemovalCause? {
        if entries == 0 {
            guard budget.reserveEntry() else { return .countLimit }
            entries = 1
        }
        let needed = UInt(bitPattern: amount)
        if cost < needed {
            guard budget.reserve(cost: Int(bitPattern: needed &- cost)) else { return .costLimit }
            cost = needed
        }
        if cost > needed { release(in: budget, keeping: 1, cost: needed) }
        return nil
    }

    /// Gives everything back but what is to be kept.
    @inlinable
    mutating func release(in budget: borrowing Budget, keeping keptEntries: Int = 0, cost keptCost: UInt = 0) {
        budget.release(entries: entries &- keptEntries, cost: 0)
        var surplus = cost &- keptCost
        while surplus > 0 {
            let part = Swift.min(surplus, UInt(bitPattern: Int.max))
            budget.release(entries: 0, cost: Int(bitPattern: part))
            surplus &-= part
        }
        entries = keptEntries
        cost = keptCost
    }
}
