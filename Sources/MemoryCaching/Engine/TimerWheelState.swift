//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The state of a ``TimerWheel``: eight wheels of 64 buckets; a bucket of the first spans 2²⁰ ns (about a millisecond),
/// of each further one 64 times that, so that every `Int64` fits. A slot moves down a wheel at most seven times in its
/// life. What is due is exact: within the present millisecond deadlines are compared themselves.
struct TimerWheelState: ~Copyable {
    private static let levels = 8
    private static let tickBits: Int64 = 20
    /// Slots of the present millisecond that one call compares: some microseconds.
    private static let mostCompared = 1024

    /// By slot: the deadline in nanoseconds, and the links of the bucket's list; bucket + 1, or 0 where not scheduled.
    private var deadlines = SlotColumn<Int64>()
    private var previous = SlotColumn<UInt32>()
    private var next = SlotColumn<UInt32>()
    private var buckets = SlotColumn<UInt16>()
    /// The moments beyond which no use postpones a deadline, by slot; 0 where that is the deadline itself. Without room
    /// until the first that differs.
    private var lastDeadlines = SlotColumn<Int64>()
    /// Slots whose refresh has been tried without success, one bit each; without room until the first.
    private var triedRefreshes = SlotColumn<UInt64>()

    /// The first slot of each bucket.
    private var heads = SlotColumn<UInt32>(count: levels * 64)
    /// One bit for each bucket with slots, a word for each wheel.
    private var occupied = SlotColumn<UInt64>(count: levels)
    /// The slot of the present millisecond that is compared next, and the tick that is; 0 for the first of its bucket.
    private var compared: UInt32 = 0
    private var comparedTick: Int64 = -1
    /// The bucket whose slots are moving down just now.
    private var opened: Int?
    /// The tick up to which buckets have been opened.
    private var current: Int64 = 0

    init() {}

    /// See ``TimerWheel/following(slots:)``.
    init(following other: borrowing TimerWheelState, slots: Int) {
        current = other.current
        grow(to: slots)
        if other.lastDeadlines.count > 0 { lastDeadlines.grow(to: slots) }
    }

    deinit {
        deadlines.deallocate()
        previous.deallocate()
        next.deallocate()
        buckets.deallocate()
        lastDeadlines.deallocate()
        triedRefreshes.deallocate()
        heads.deallocate()
        occupied.deallocate()
    }

    /// The slot's deadline in nanoseconds; the largest where it has none.
    func deadline(of slot: UInt32) -> Int64 {
        Int(slot) < buckets.count && buckets[Int(slot)] != 0 ? deadlines[Int(slot)] : .max
    }

    /// When the slot's lifetime is over, and when at the latest.
    func entryDeadline(of slot: UInt32) -> EntryDeadline {
        guard Int(slot) < buckets.count, buckets[Int(slot)] != 0 else { return .never }
        let next = deadlines[Int(slot)]
        let last = Int(slot) < lastDeadlines.count ? lastDeadlines[Int(slot)] : 0
        var deadline = EntryDeadline(next: next, last: last == 0 ? next : last)
        let word = Int(slot >> 6)
        deadline.isRefreshTried = word < triedRefreshes.count && triedRefreshes[word] & (1 << UInt64(slot & 63)) != 0
        return deadline
    }

    /// Notes whether a refresh of what the slot holds has failed; holds until the slot gets another deadline.
    mutating func setRefreshTried(_ isTried: Bool, of slot: UInt32) {
        let (word, bit) = (Int(slot >> 6), UInt64(1) << UInt64(slot & 63))
        if word < triedRefreshes.count {
            triedRefreshes[word] = isTried ? triedRefreshes[word] | bit : triedRefreshes[word] & ~bit
        } else if isTried {
            triedRefreshes.grow(to: max(word + 1, buckets.count >> 6))
            triedRefreshes[word] = bit
        }
    }

    /// Puts the slot's deadline off to `deadline`, or as far as it can be put off.
    mutating func postpone(_ slot: UInt32, to deadline: Int64) {
        let last = entryDeadline(of: slot).last
        cancel(slot)
        deadlines[Int(slot)] = min(deadline, last)
        link(slot)
    }

    /// Schedules `slot`, which must not be scheduled.
    mutating func schedule(_ slot: UInt32, deadline: EntryDeadline) {
        if Int(slot) >= buckets.count { grow(to: max(Int(slot) + 1, 2 * buckets.count)) }
        let last = deadline.last == deadline.next ? 0 : deadline.last
        if last != 0 || lastDeadlines.count > 0 {
            if Int(slot) >= lastDeadlines.count { lastDeadlines.grow(to: buckets.count) }
            lastDeadlines[Int(slot)] = last
        }
        deadlines[Int(slot)] = deadline.next
        setRefreshTried(deadline.isRefreshTried, of: slot)
        link(slot)
    }

    /// Takes `slot` out, if it is in.
    mutating func cancel(_ slot: UInt32) {
        guard Int(slot) < buckets.count, buckets[Int(slot)] != 0 else { return }
        let bucket = Int(buckets[Int(slot)]) - 1
        let (before, after) = (previous[Int(slot)], next[Int(slot)])
        if before == 0 { heads[bucket] = after } else { next[Int(before)] = after }
        if after != 0 { previous[Int(after)] = before }
        if slot == compared { compared = after }
        if heads[bucket] == 0 { occupied[bucket >> 6] &= ~(1 << UInt64(bucket & 63)) }
        buckets[Int(slot)] = 0
    }

    /// A slot whose deadline is not after `now`, or 0 when there is none (left), or when `steps` have been used up, of
    /// which each slot that moves down a wheel takes one. It stays scheduled until it is cancelled.
    ///
    /// However many slots end at one moment, a call does a bounded piece of work: a bucket that has been opened empties
    /// over several calls, and of the present millisecond a call compares ``mostCompared`` slots, the next one others.
    mutating func firstDue(at now: Int64, steps: inout Int) -> UInt32 {
        let nowTick = now >> Self.tickBits
        while true {
            if let bucket = opened {
                let slot = heads[bucket]
                if slot == 0 {
                    opened = nil
                    continue
                }
                if steps <= 0 { return 0 }
                steps -= 1
                cancel(slot)
                link(slot)
                continue
            }
            guard let (level, index, start) = earliestBucket(), start <= nowTick else {
                current = max(current, nowTick)
                return 0
            }
            current = max(current, start)
            let bucket = (level << 6) | index
            if level > 0 {
                opened = bucket
                continue
            }
            if start < nowTick { return heads[bucket] }
            if comparedTick != start { (compared, comparedTick) = (0, start) }
            if compared == 0 { compared = heads[bucket] }
            for _ in 0..<Self.mostCompared {
                let slot = compared
                if deadlines[Int(slot)] <= now { return slot }
                compared = next[Int(slot)]
                if compared == 0 { return 0 }
            }
            steps = 0
            return 0
        }
    }

    /// Has the next search begin anew: one that ends with steps left has then compared all.
    mutating func restart() { compared = 0 }

    /// Makes room for `count` slots.
    private mutating func grow(to count: Int) {
        deadlines.grow(to: count)
        previous.grow(to: count)
        next.grow(to: count)
        buckets.grow(to: count)
    }

    private mutating func link(_ slot: UInt32) {
        let tick = max(deadlines[Int(slot)] >> Self.tickBits, current)
        let difference = UInt64(bitPattern: tick ^ current)
        let level = difference == 0 ? 0 : (63 - difference.leadingZeroBitCount) / 6
        let index = Int(tick >> (6 * Int64(level))) & 63
        let bucket = (level << 6) | index
        let head = heads[bucket]
        previous[Int(slot)] = 0
        next[Int(slot)] = head
        if head != 0 { previous[Int(head)] = slot }
        heads[bucket] = slot
        buckets[Int(slot)] = UInt16(bucket + 1)
        occupied[level] |= 1 << UInt64(index)
    }

    /// The bucket that is opened next, and its first tick. Lower wheels always come before higher ones, because a
    /// slot lies in the lowest wheel whose present round it shares with ``current``.
    private func earliestBucket() -> (level: Int, index: Int, start: Int64)? {
        for level in 0..<Self.levels where occupied[level] != 0 {
            let shift = 6 * Int64(level)
            let index = occupied[level].trailingZeroBitCount
            let round = (current >> (shift + 6)) << (shift + 6)
            return (level, index, round + (Int64(index) << shift))
        }
        return nil
    }
}
