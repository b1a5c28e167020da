//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

// Making room in one critical section: by the shard's stock, by what nobody has, by its own victims.
extension CacheEngine {
    /// What came of making room under a shard's lock.
    @usableFromInline
    enum RoomOutcome { case made, refused, beyondShard }

    /// Victims that one insertion takes at most while it holds its shard's lock; who needs more is a large insertion.
    @usableFromInline static var mostVictims: Int { 32 }

    /// Cost that a shard may keep beyond what its entries take: a 64th of the limit in all shards together. With only
    /// one shard nobody else could use it, and nothing is kept.
    @inlinable
    @inline(__always)
    func mostStock(of shard: ShardPointer) -> Int {
        if shard.pointee.published == nil { return 0 }
        return max(0, limits.cost.load(ordering: .relaxed)) &>> (6 &+ shard.pointee.siblingBits)
    }

    /// Provides the room of `newcomer` in `shard`, which is locked: a place unless it replaces the entry at `slot`, and
    /// its cost beyond that entry's. What a call cannot use it gives back before it unlocks.
    ///
    /// The room comes from the shard's stock, then from what nobody has, then from victims: the first one out of this
    /// shard, further ones out of this or another, whichever has the cheaper. In a full cache one victim pays for one
    /// newcomer, no word is written that another shard reads, and no other lock is taken.
    ///
    /// - Parameter isInOrder: whether the replaced entry still stands in the shard's order, out of which it is taken
    ///   before anything is evicted: it is no victim of its own replacement.
    @inlinable
    @inline(__always)
    func makeRoom(
        for newcomer: inout Newcomer,
        replacing slot: UInt32,
        _ isInOrder: inout Bool,
        in shard: ShardPointer,
        into departures: inout EntryDepartures<Key, Value>
    ) -> RoomOutcome {
        let needed = slot == 0 ? newcomer.cost : newcomer.cost &- shard.pointee.storage.cost(of: slot)
        let hasPlace = slot != 0 || shard.pointee.room.pointee.drawPlace(within: limits)
        if hasPlace, pay(needed, from: shard) { return .made }
        return makeRoomByVictims(
            for: &newcomer,
            replacing: slot,
            &isInOrder,
            needed: needed,
            hasPlace: hasPlace,
            in: shard,
            into: &departures
        )
    }

    /// The newcomer is not changed; handed over as it is, it would be copied, and the copy would wait for its parts to
    /// be written.
    @inlinable
    @inline(never)
    func makeRoomByVictims(
        for newcomer: inout Newcomer,
        replacing slot: UInt32,
        _ isInOrder: inout Bool,
        needed: Int,
        hasPlace hadPlace: Bool,
        in shard: ShardPointer,
        into departures: inout EntryDepartures<Key, Value>
    ) -> RoomOutcome {
        let room = shard.pointee.room
        var hasPlace = hadPlace
        var victims = 0
        var outcome = RoomOutcome.beyondShard
        if isInOrder {
            isInOrder = false
            shard.pointee.unlink(slot)
        }
        while !isTooMuch(needed, victims: victims, for: shard) {
            let missing: RemovalCause = hasPlace ? .costLimit : .countLimit
            let source = cheaperShard(than: shard, for: missing, after: victims)
            defer { if source != shard { unlock(source) } }
            let cost: Int
            if let due = evictDue(from: source, at: newcomer.now, into: &departures) {
                cost = due
            } else {
                let victim = source.pointee.selectVictim(for: missing)
                if victim == 0 { break }
                let mayRefuse = victims > 0 && missing == .costLimit && slot == 0
                if mayRefuse, isWorthLess(newcomer, in: shard, than: victim, in: source) {
                    outcome = .refused
                    break
                }
                cost = evict(victim, from: source, cause: missing, into: &departures)
                victims &+= 1
            }
            if source != shard || source.pointee.isFew { source.pointee.publish() }
            if hasPlace { room.pointee.giveBack(places: 1, cost: 0) } else { hasPlace = true }
            receive(cost, in: shard)
            if pay(needed, from: shard) {
                outcome = .made
                break
            }
        }
        if outcome != .made, hasPlace, slot == 0 { room.pointee.giveBack(places: 1, cost: 0) }
        if shard.pointee.stock > 0 {
            let surplus = shard.pointee.stock &- mostStock(of: shard)
            if surplus > 0 {
                shard.pointee.stock &-= surplus
                room.pointee.giveBack(places: 0, cost: surplus)
            }
        }
        return outcome
    }

    /// Whether a shard of many should not pay `amount` by itself: it has taken so many victims already, or `amount` is
    /// more than a quarter of what a shard holds on the mean. With few entries in each, most victims are others'
    /// anyway.
    @inlinable
    func isTooMuch(_ amount: Int, victims: Int, for shard: ShardPointer) -> Bool {
        if shard.pointee.published == nil { return false }
        if victims >= Self.mostVictims { return true }
        let limit = limits.cost.load(ordering: .relaxed)
        return limit > 0 && amount > limit &>> (2 &+ shard.pointee.siblingBits) && !shard.pointee.isFew
    }

    /// Pays `amount` out of the stock of `shard`, which is locked, and where that is too little out of what nobody has.
    @inlinable
    @inline(__always)
    func pay(_ amount: Int, from shard: ShardPointer) -> Bool {
        if amount <= shard.pointee.stock {
            if amount > 0 { shard.pointee.stock &-= amount } else if amount < 0 { returnCost(0 &- amount, from: shard) }
            return true
        }
        guard shard.pointee.room.pointee.draw(cost: amount &- shard.pointee.stock, within: limits) else { return false }
        shard.pointee.stock = 0
        return true
    }

    /// Adds a victim's cost to the stock of `shard`; what a sum of two costs near `Int.max` cannot hold goes back.
    @inlinable
    func receive(_ cost: Int, in shard: ShardPointer) {
        let (sum, overflow) = shard.pointee.stock.addingReportingOverflow(cost)
        if overflow {
            shard.pointee.room.pointee.giveBack(places: 0, cost: cost)
        } else {
            shard.pointee.stock = sum
        }
    }

    /// Keeps the cost of what has left `shard`, which is locked, as its stock, or gives it back where that is full.
    @inlinable
    @inline(__always)
    func returnCost(_ cost: Int, from shard: ShardPointer) {
        if cost <= mostStock(of: shard) &- shard.pointee.stock {
            shard.pointee.stock &+= cost
        } else {
            shard.pointee.room.pointee.giveBack(places: 0, cost: cost)
        }
    }

    /// Whether the newcomer would earn less than the next victim, which was not used in its stay: then it is refused,
    /// or else a big value displaces many dense ones. Only after a first victim has gone; refused before, newcomers
    /// never get into tiny caches.
    ///
    /// Two stays, because a newcomer's first one is weighed low while nothing is known about it. Misses fall from .637
    /// to .602 (s_meta_kv_syn, a cache of 0.1 %) and from .661 to .656 (s_adaptsize, 1 %). What is refused leaves no
    /// ghost: with one the learner would count hits of stays that nobody has paid for (s_arc_p12, 1 %: .712 instead of
    /// .698).
    @inlinable
    func isWorthLess(
        _ newcomer: Newcomer,
        in shard: ShardPointer,
        than victim: UInt32,
        in source: ShardPointer
    ) -> Bool {
        guard ordering == .worth else { return false }
        let meta = source.pointee.storage.view[victim].pointee
        if meta.info.has(EntryInfo.touched) { return false }
        let own = shard.pointee.inflation + 2 * Double(shard.pointee.stayBought(by: newcomer.info))
        return source.pointee.base + Double(meta.height) > own
    }

    /// With fewer entries of many sizes, a shard's own least is no good measure of what is cheapest. Block traces
    /// (s_arc_p12 with 8.6, 22 and 40 MB, s_arc_p3 with 14 and 30 MB; means of three runs) miss up to .013 less with
    /// three looks in 64 shards, up to .016 less in 128, and .001 less in 16. With looks up to 511 entries it is up to
    /// .003 less again in 64; but they read what other threads write, and get-or-set with two threads, 16 shards and
    /// 5,000 entries took a tenth to a quarter longer.
    @usableFromInline static var fewToChooseFrom: Int { 256 }

    /// The shard to take the next victim from: `shard`, which is locked, or another one that has a cheaper entry and
    /// whose lock was free, and is taken.
    ///
    /// Keys are spread evenly, so the shards age alike, and a shard's own least entry is as good as any. Sixteen others
    /// are looked at before each sixteenth victim, so that they stay so; others in turn, so that a victim costs no more
    /// where there are more shards. Before the second and further victims of one newcomer three are looked at, since
    /// those tell most of what is cheaper elsewhere. So they are before the first one where cost is limited and the
    /// shard has fewer than ``fewToChooseFrom`` entries: of few entries of many sizes, the least may be worth much.
    ///
    /// In order of use they are looked at when the least entry here has come later than it may, see
    /// ``Shard/latestVictim``: a shard that got fewer of the first entries than others would go on to evict later ones
    /// than they. Of 8,000 entries in 128 shards it took one that 2,143 others were older than.
    @inlinable
    @inline(__always)
    func cheaperShard(than shard: ShardPointer, for cause: RemovalCause, after victims: Int) -> ShardPointer {
        guard let published = shard.pointee.published else { return shard }
        shard.pointee.victims &+= 1
        let isFew = shard.pointee.isFew
        let isByUse = ordering == .reuse
        let isRound = shard.pointee.victims & 15 == 0
        let isTurn =
            isByUse
            ? shard.pointee.leastHeight(for: cause) > shard.pointee.latestVictim(for: cause)
            : victims > 0 || isRound || (cause == .costLimit && shard.pointee.storage.count < Self.fewToChooseFrom)
        guard isFew || isTurn else { return shard }
        let looksAtAll = isFew || isByUse
        let looks = looksAtAll ? shard.pointee.siblingCount : isRound && victims == 0 ? 16 : 3
        return lookForCheaperShard(than: shard, for: cause, published, looks: min(looks, shard.pointee.siblingCount))
    }

    /// Looks at `looks` others. Out of line: most victims are taken without.
    @inlinable
    @inline(never)
    func lookForCheaperShard(
        than shard: ShardPointer,
        for cause: RemovalCause,
        _ published: UnsafeMutablePointer<Atomic<UInt64>>,
        looks: Int
    ) -> ShardPointer {
        shard.pointee.shareInflation()
        shard.pointee.publish()
        let word = shard.pointee.directory
        let count = shard.pointee.siblingCount
        let own = Self.number(of: shard)
        let first = published - own &* 2
        let start = own &+ 1 &+ Int(shard.pointee.victims) &* 3
        // What others have published may be out of date; who is asked publishes anew, and need not be asked again.
        for round in 1...looks {
            let ownLeast = shard.pointee.leastHeight(for: cause)
            var least = ownLeast.bitPattern
            var best = own
            for step in 0..<looks {
                let index = (start &+ step) & (count &- 1)
                let height = first[Shard<Key, Value>.publishedPlace(of: index, for: cause)].load(ordering: .relaxed)
                if height < least { (least, best) = (height, index) }
            }
            if ordering == .reuse, shard.pointee.allowVictims(for: cause, first) >= ownLeast { return shard }
            if best == own { return shard }
            let other = Self.shard(best, of: word)
            guard tryLock(other) else { return shard }
            if other.pointee.isElsewhere {
                unlock(other)
                return shard
            }
            let height = other.pointee.leastHeight(for: cause)
            // In order of use another one may come before what is there by now.
            let isLeast = ordering != .reuse || height.bitPattern <= least || round == looks
            if isLeast, height < ownLeast { return other }
            other.pointee.publish()
            unlock(other)
        }
        return shard
    }
}
