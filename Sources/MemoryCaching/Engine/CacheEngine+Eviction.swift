//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

extension CacheEngine {
    // MARK: One victim

    /// Evicts the least of `shard`, which is locked. Returns its cost; its room is the caller's.
    @inlinable
    func evict(
        from shard: ShardPointer,
        cause: RemovalCause,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int? {
        let slot = shard.pointee.selectVictim(for: cause)
        return slot == 0 ? nil : evict(slot, from: shard, cause: cause, into: &departures)
    }

    /// Evicts the entry at `slot` of `shard`, which is locked. Returns its cost; its room is the caller's.
    @inlinable
    func evict(
        _ slot: UInt32,
        from shard: ShardPointer,
        cause: RemovalCause,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int {
        let cost = shard.pointee.storage.cost(of: slot)
        let entry = shard.pointee.evict(slot, residents: entryCount(shard), cause: cause)
        if !departsSilently { departures.append(entry, cause: cause) }
        return cost
    }

    /// Takes one entry out of `shard`, which is locked, whose lifetime is over at `now`, and which is no fallback; nil
    /// where there is none. Returns its cost; its room is the caller's.
    @inlinable
    func evictDue(
        from shard: ShardPointer,
        at now: Int64,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int? {
        guard now != .min, let wheel = shard.pointee.wheel else { return nil }
        var steps = SweptPiece.mostEntries
        let due = wheel.firstDue(at: lifetimes.fallbackEnd(at: now), steps: &steps)
        if due == 0 { return nil }
        let cost = shard.pointee.storage.cost(of: due)
        departures.append(shard.pointee.remove(due, cause: .expired), cause: .expired)
        return cost
    }

    // MARK: The least of all shards

    /// What came of evicting the least entry of all.
    @usableFromInline
    enum Eviction { case evicted(cost: Int), tooDear, none }

    /// The shard whose least head is the least of all, not locked; nil where there is none. The only shard there is has
    /// published nothing and is returned whatever it holds. Of equals the first is taken, counted round from `start`.
    @inlinable
    func cheapestShard(for cause: RemovalCause, from start: Int) -> ShardPointer? {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return nil }
        let first = Self.shard(0, of: word)
        let count = 1 &<< Int(word & 63)
        guard count > 1, let published = first.pointee.published else { return first }
        var best = -1
        var least = Double.infinity.bitPattern
        for step in 0..<count {
            let index = (start &+ step) & (count &- 1)
            // Bits of doubles that are not negative, and no height is, compare as the doubles do.
            let height = published[Shard<Key, Value>.publishedPlace(of: index, for: cause)].load(ordering: .relaxed)
            if height < least { (least, best) = (height, index) }
        }
        return best < 0 ? nil : Self.shard(best, of: word)
    }

    /// The same, locked.
    @inlinable
    func lockCheapestShard(for cause: RemovalCause, from start: Int) -> ShardPointer? {
        var looks = ordering == .reuse ? 2 &<< Int(directory.load(ordering: .acquiring) & 63) : 0
        while let shard = cheapestShard(for: cause, from: start) {
            lock(shard)
            if shard.pointee.isElsewhere {
                unlock(shard)
                moveIn(shard)
                continue
            }
            // In order of use another one may come before what is there by now. Others use it meanwhile.
            if looks == 0 || !shard.pointee.hasPublishedLess(for: cause) { return shard }
            looks &-= 1
            shard.pointee.publish()
            unlock(shard)
        }
        return nil
    }

    /// From which shard the next eviction counts equals. Two threads may get the same.
    @inlinable
    func nextStart() -> Int {
        let start = evictionStart.load(ordering: .relaxed) &+ 1
        evictionStart.store(start, ordering: .relaxed)
        return start
    }

    /// Evicts the entry of least worth in the whole cache, as far as the shards have published it, unless its height is
    /// above `price`.
    ///
    /// Entries of one size that came within one turnover of the cache have one height, and each shard knows which of
    /// its own is the oldest. So the shards take turns: emptied one after the other, a cache would lose its newest
    /// entries before its oldest, and what leaves would lie scattered over all pages, none of which could be returned.
    ///
    /// - Parameters:
    ///   - spared: an entry that is not evicted, by its hash and slot.
    ///   - givesBack: whether its room goes back before the shard is unlocked, so that a process forked in between has
    ///     lost none of it; else it is the caller's, who has the lock of large insertions.
    @inlinable
    @inline(never)
    func evictOne(
        cause: RemovalCause,
        below price: Double = .infinity,
        sparing spared: (hash: UInt64, slot: UInt32)? = nil,
        givingBack givesBack: Bool = false,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Eviction {
        let start = nextStart()
        while let shard = lockCheapestShard(for: cause, from: start) {
            defer { unlock(shard) }
            // The slot may have become another entry's, which is spared as well, or nobody's.
            let slot =
                spared.map { isShard(shard, of: $0.hash) && shard.pointee.storage.holds($0.slot) ? $0.slot : 0 } ?? 0
            // Out of the order for the time, so that it is neither chosen nor published.
            if slot != 0 { shard.pointee.unlink(slot) }
            defer { if slot != 0 { shard.pointee.enqueue(slot) } }
            let least = shard.pointee.leastHeight(for: cause)
            let cost = least > price ? nil : evict(from: shard, cause: cause, into: &departures)
            shard.pointee.publish()
            if let cost {
                if givesBack { shard.pointee.room.pointee.giveBack(places: 1, cost: cost) }
                return .evicted(cost: cost)
            }
            if least < .infinity { return .tooDear }
            if shard.pointee.published == nil { return .none }
            // Another thread has taken the least head first; then there is a next one.
        }
        return .none
    }

    /// Victims that leave a shard in one critical section, for memory pressure.
    @usableFromInline static var longestRun: Int { 16 }

    /// Evicts the first of the least shard's entries until about `bytes` are free; returns how many that freed, 0 where
    /// nothing is left below `height`. The shards take turns, as in ``evictOne(cause:below:sparing:givingBack:into:)``.
    ///
    /// What an eviction costs is waiting for memory: the entry's own lines, its word in the table, its ghost, its
    /// value. All of them are asked for, for all victims of the run, before the first leaves.
    @inlinable
    @inline(never)
    func evictRun(
        _ bytes: Int,
        below height: Double,
        _ bytesPerCostlessEntry: Int,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int {
        let start = nextStart()
        while let shard = lockCheapestShard(for: .memoryPressure, from: start) {
            defer { unlock(shard) }
            var latest = Double.infinity
            if shard.pointee.published != nil {
                prefetchVictims(of: shard)
                if ordering == .reuse, let first = Self.shard(0, of: shard.pointee.directory).pointee.published {
                    latest = shard.pointee.allowVictims(for: .memoryPressure, first)
                }
            }
            var freed = 0
            var places = 0
            var costs = 0
            while places < Self.longestRun, freed < bytes {
                let least = shard.pointee.leastHeight(for: .memoryPressure)
                guard least <= height, places == 0 || least <= latest else { break }
                guard let cost = evict(from: shard, cause: .memoryPressure, into: &departures) else { break }
                places &+= 1
                // Costs near Int.max are given back one by one.
                let (sum, overflow) = costs.addingReportingOverflow(cost)
                if overflow { shard.pointee.room.pointee.giveBack(places: 0, cost: cost) } else { costs = sum }
                freed = freed.addingReportingOverflow(cost > 0 ? cost : bytesPerCostlessEntry).partialValue
                if freed < 0 { freed = .max }
            }
            shard.pointee.room.pointee.giveBack(places: places, cost: costs)
            let least = shard.pointee.leastHeight(for: .memoryPressure)
            shard.pointee.publish()
            // The governor compares the cache's price with others' by this.
            shard.pointee.policy.pointee.raiseInflation(to: shard.pointee.inflation)
            if places > 0 { return freed }
            if least < .infinity || shard.pointee.published == nil { return 0 }
            // Another thread has taken the least head first; then there is a next one.
        }
        return 0
    }

    /// Asks for the memory that evicting the next victims of `shard`, which is locked, will touch.
    @inlinable
    @inline(__always)
    func prefetchVictims(of shard: ShardPointer) {
        let view = shard.pointee.storage.view
        var slot = shard.pointee.order.least(for: .memoryPressure)
        for _ in 0..<Self.longestRun where slot != 0 {
            let hash = shard.pointee.storage.hash(of: slot)
            prefetch(shard.pointee.storage.home(hash))
            shard.pointee.ghosts.prefetch(hash)
            if !_isPOD(Value.self), MemoryLayout<Value>.size >= MemoryLayout<UInt>.size {
                // A reference, or what begins with one: its count is in the object's first words.
                let entry = shard.pointee.storage.entries + Int(slot)
                withUnsafePointer(to: &entry.pointee.value) { prefetchObject(at: $0) }
            }
            slot = view[slot].pointee.next
        }
    }

    /// Whether `hash` leads to `shard`, which is locked.
    @inlinable
    func isShard(_ shard: ShardPointer, of hash: UInt64) -> Bool {
        let word = shard.pointee.directory
        return Self.shard(Self.shardIndex(hash, of: word), of: word) == shard
    }

    /// Has every shard say how cheap its cheapest entry is: before entries are taken from all of them.
    @inlinable
    func publishAll() { forEachShard { $0.pointee.publish() } }
}
