//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

extension CacheEngine {
    /// Lets go of what has left, with no lock held: tells the observer, discards content, and deinitialises.
    ///
    /// Where `replacement` is the very object that it replaced, the cache still holds it: nothing is discarded.
    @inlinable
    @inline(__always)
    func finish(_ departures: consuming EntryDepartures<Key, Value>, replacement: Value? = nil) {
        if departures.first == nil { return }
        // Whose content could be discarded has set the flag before it went in.
        if !hasObserver.load(ordering: .relaxed), !hasDiscardable.load(ordering: .relaxed) { return }
        tell(of: departures, replacement: replacement)
    }

    @inlinable
    @inline(never)
    func tell(of departures: EntryDepartures<Key, Value>, replacement: Value?) {
        let observer = hasObserver.load(ordering: .relaxed) ? removalObserver : nil
        func tell(of departure: EntryDepartures<Key, Value>.Departure) {
            let isStillHeld =
                departure.cause == .replaced
                && hooks.map { hooks in
                    guard let replacement, departure.isDiscardable || !hooks.reportsIdenticalReplacement else {
                        return false
                    }
                    return hooks.isIdentical(departure.value, replacement)
                } ?? false
            if isStillHeld, !hooks!.reportsIdenticalReplacement { return }
            observer?(departure.key, departure.value, departure.cause)
            if departure.isDiscardable, !isStillHeld { hooks?.discardIfPossible(departure.value) }
        }
        if let first = departures.first { tell(of: first) }
        if let rest = departures.rest { for departure in rest { tell(of: departure) } }
    }

    /// The shard whose least head is the least of all and less than `bound`, not locked; nil where there is none. The
    /// only shard there is has published nothing and is returned whatever it holds. Of equals the first is taken,
    /// counted round from `start`.
    @inlinable
    func cheapestShard(costlyOnly: Bool, below bound: Double = .infinity, from start: Int = 0) -> ShardPointer? {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return nil }
        let first = Self.shard(0, of: word)
        let count = 1 &<< Int(word & 63)
        guard count > 1, let published = first.pointee.published else { return first }
        var best = -1
        var least = bound.bitPattern
        var step = 0
        while step < count {
            let index = (start &+ step) & (count &- 1)
            // Bits of doubles that are not negative compare as the doubles do.
            let height = published[index &* 2 &+ (costlyOnly ? 1 : 0)].load(ordering: .relaxed)
            if height < least {
                least = height
                best = index
            }
            step &+= 1
        }
        return best < 0 ? nil : Self.shard(best, of: word)
    }

    /// Evicts the least of `shard`, which is locked. Returns its cost; its room is the caller's.
    @inlinable
    func evict(
        from shard: ShardPointer,
        costlyOnly: Bool,
        cause: RemovalCause,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int? {
        let slot = shard.pointee.selectVictim(costlyOnly: costlyOnly)
        if slot == 0 { return nil }
        let cost = shard.pointee.storage.cost(of: slot)
        let entry = shard.pointee.evict(slot, residents: budget.entries.load(ordering: .relaxed), cause: cause)
        if !departsSilently { departures.append(entry, cause: cause) }
        return cost
    }

    /// Whether what leaves need not be carried out of the lock: nobody is told, and there is nothing to deinitialise.
    @inlinable
    @inline(__always)
    var departsSilently: Bool {
        _isPOD(Key.self) && _isPOD(Value.self) && hooks == nil && !hasObserver.load(ordering: .relaxed)
    }

    /// Evicts the entry of least worth in the whole cache, unless its height is above `price`. Returns its cost; its
    /// room is the caller's.
    ///
    /// Entries of one size that came within one lifetime of the cache have one height, and each shard knows which of its
    /// own is the oldest. So the shards take turns: emptied one after the other, a cache would lose its newest entries
    /// before its oldest, and what leaves would lie scattered over all pages, none of which could be returned.
    @inlinable
    @inline(never)
    func evictOne(
        costlyOnly: Bool,
        cause: RemovalCause,
        below price: Double = .infinity,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int? {
        let turn = evictionTurn.load(ordering: .relaxed) &+ 1
        evictionTurn.store(turn, ordering: .relaxed)
        while let shard = cheapestShard(costlyOnly: costlyOnly, from: turn) {
            ShardLock(guarding: UnsafeMutableRawPointer(shard)).lock()
            if shard.pointee.isRetired {
                unlock(shard)
                continue
            }
            let least = shard.pointee.leastHeight(costlyOnly: costlyOnly)
            let isAlone = shard.pointee.published == nil
            let room =
                least > price
                ? nil : evict(from: shard, costlyOnly: costlyOnly, cause: cause, into: &departures)
            shard.pointee.publish()
            unlock(shard)
            // Another thread may have taken the least head first; then there is a next one.
            if room != nil || isAlone || least > price && least < .infinity { return room }
        }
        return nil
    }

    /// Evicts while `isOver` says so. EntryDepartures are let go of in batches, so that a large trim holds no large array.
    ///
    /// As many entries at most as there are now: an observer that puts back what leaves must not keep it going.
    func evict(while isOver: () -> Bool, costlyOnly: Bool, cause: RemovalCause) {
        var allowance = budget.entries.load(ordering: .relaxed)
        while allowance > 0, isOver() {
            var departures = EntryDepartures<Key, Value>()
            while departures.count < 256, allowance > 0, isOver() {
                allowance -= 1
                guard let cost = evictOne(costlyOnly: costlyOnly, cause: cause, into: &departures) else {
                    finish(departures)
                    return
                }
                budget.release(entries: 1, cost: cost)
            }
            finish(departures)
        }
    }

    // MARK: Limits

    /// Entries at most; 0 or less is no limit. Setting it evicts at once.
    package var countLimit: Int {
        get { budget.countLimit.load(ordering: .relaxed) }
        set {
            budget.countLimit.store(newValue, ordering: .relaxed)
            enforceLimits()
        }
    }

    /// Sum of costs at most; 0 or less is no limit. Setting it evicts at once.
    package var totalCostLimit: Int {
        get { budget.costLimit.load(ordering: .relaxed) }
        set {
            budget.costLimit.store(newValue, ordering: .relaxed)
            enforceLimits()
        }
    }

    /// Evicts until both limits hold. Where nothing is left to evict though they do not, the room is held by calls
    /// that are just putting entries in: they are waited for.
    private func enforceLimits() {
        removeDiscarded()
        func isOver() -> Bool { exceedsCount() || exceedsCost() }
        func exceedsCount() -> Bool { budget.exceeds(count: budget.countLimit.load(ordering: .relaxed)) }
        func exceedsCost() -> Bool { budget.exceeds(cost: budget.costLimit.load(ordering: .relaxed)) }
        while isOver() {
            evict(while: exceedsCount, costlyOnly: false, cause: .countLimit)
            evict(while: exceedsCost, costlyOnly: true, cause: .costLimit)
            if isOver() { yieldProcessor() }
        }
    }

    /// Evicts, least worth first, until `limit` entries are left.
    package func trim(toCount limit: Int) {
        removeExpired()
        removeDiscarded()
        evict(
            while: { self.budget.entries.load(ordering: .relaxed) > max(0, limit) },
            costlyOnly: false,
            cause: .countLimit
        )
    }

    /// Evicts, least worth first, until the costs add up to `limit` at most; entries of cost 0 stay.
    package func trim(toCost limit: Int) {
        removeExpired()
        removeDiscarded()
        evict(while: { self.budget.totalCost > max(0, limit) }, costlyOnly: true, cause: .costLimit)
    }
}
