//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

extension CacheEngine {
    /// Up to this many entries, a cache that is ordered by reuse keeps them in exact order of use, and the least
    /// recently used goes first.
    @usableFromInline static var exactCount: Int { 1024 }

    /// What an insertion is charged at most: a tebibyte. Costs near `Int.max` must not overflow the governor's sums.
    @usableFromInline static var largestCharge: Int { 1 << 40 }

    /// Stores `value`, evicting others where the limits ask for it. A value whose cost alone is larger than the
    /// total cost limit is refused, and what was stored under `key` goes too.
    ///
    /// - Parameter ticket: what a load has to show; nothing is stored if the key has changed since the load began.
    /// - Returns: whether the value was stored.
    @inlinable
    @discardableResult
    package func setValue(
        _ value: Value,
        forKey key: Key,
        cost givenCost: Int = 0,
        recomputeCost: Double? = nil,
        expiresAfter lifetime: Duration? = nil,
        ticket: LoadTicket? = nil
    ) -> Bool {
        let hash = KeyHash.hash(key, seed: seed)
        let cost = max(0, givenCost)
        var info = EntryInfo(bits: 0)
        info.density = density(cost: cost, recomputeCost: recomputeCost)
        if cost == 0 { info.bits |= EntryInfo.free }
        if let hooks {
            if hooks.isDiscardable(value) {
                info.bits |= EntryInfo.discardable
                hasDiscardable.store(true, ordering: .relaxed)
            }
            if hasDiscardable.load(ordering: .relaxed) { pruneDiscarded(for: cost) }
        }
        if ordering == .reuse, budget.entries.load(ordering: .relaxed) < Self.exactCount {
            info.bits |= EntryInfo.exact
        }
        var now = Int64.min
        var deadline = EntryDeadline.never
        if lifetime != nil || idleLifetime != .max || usesLifetimes.load(ordering: .relaxed) {
            now = clock.nanoseconds()
            if lifetime != nil || idleLifetime != .max {
                deadline = EntryDeadline(now: now, lifetime: lifetime, idleLifetime: idleLifetime)
                info.bits |= EntryInfo.expires
                usesLifetimes.store(true, ordering: .relaxed)
            }
        }

        var departures = EntryDepartures<Key, Value>()
        var held = HeldRoom()
        var hasLevel = info.has(EntryInfo.exact)
        var spent: InsertionCredit?
        var (shard, slot) = locate(key, hash)
        if slot != 0, now == .min, ticket == nil, hooks == nil, shard.pointee.isAlike(slot, info, cost: cost),
            !hasObserver.load(ordering: .relaxed)
        {
            var old = value
            shard.pointee.exchange(slot, with: &old)
            if governor != nil, shard.pointee.credit.spend(min(cost, Self.largestCharge)) { spent = takeCredit(shard) }
            unlock(shard)
            withExtendedLifetime(old) {}
            if let spent { renewCredit(spent, hash) { $0.evictLeast($1, below: $2) } }
            return true
        }
        if now != .min { slot = removeExpired(shard, at: now, keeping: slot, into: &departures) }
        while true {
            if let ticket,
                !ticket.admits(over: slot == 0 ? nil : shard.pointee.wheel?.entryDeadline(of: slot).last ?? .max)
            {
                held.release(in: budget)
                shard.pointee.publish()
                unlock(shard)
                finish(departures)
                return false
            }
            let costLimit = budget.costLimit.load(ordering: .relaxed)
            if costLimit > 0, cost > costLimit {
                refuse(shard, slot, &held, into: &departures, value)
                finish(departures, replacement: value)
                return false
            }
            if slot != 0 {
                let oldCost = shard.pointee.storage.cost(of: slot)
                if cost <= oldCost || budget.reserve(cost: cost &- oldCost) {
                    if cost < oldCost { budget.release(entries: 0, cost: oldCost &- cost) }
                    held.release(in: budget)
                    let old = shard.pointee.replace(slot, with: value, info: info, cost: cost, deadline: deadline)
                    departures.append(old, cause: .replaced)
                    break
                }
                // Others make room, so the entry steps out of their order; its level stays with it.
                let old = shard.pointee.remove(slot, cause: .replaced)
                if !info.has(EntryInfo.exact) {
                    info.level = max(1, old.meta.info.level)
                    info.bits |= old.meta.info.bits & (EntryInfo.touched | EntryInfo.firstStay)
                    hasLevel = true
                }
                departures.append(old, cause: .replaced)
                held.takeOver(cost: oldCost, in: budget)
                slot = 0
            }
            if !hasLevel {
                shard.pointee.admit(hash, &info, residents: budget.entries.load(ordering: .relaxed))
                hasLevel = true
            }
            guard let missing = held.settle(for: cost, in: budget) else {
                if shard.pointee.storage.isFull { makeSlot(in: shard, into: &departures) }
                shard.pointee.insert(
                    key,
                    value,
                    hash: hash,
                    info: info,
                    cost: cost,
                    deadline: deadline
                )
                break
            }
            if let room = evictHolding(shard, for: missing, into: &departures) {
                held.takeOver(cost: room, in: budget)
                continue
            }
            shard.pointee.publish()
            unlock(shard)
            if let room = evictOne(costlyOnly: missing == .costLimit, cause: missing, into: &departures) {
                held.takeOver(cost: room, in: budget)
            } else {
                // All room there is, is held by calls like this one that have not put their entries in yet.
                yieldProcessor()
            }
            (shard, slot) = locate(key, hash)
        }
        // Not bound to a name: that would count a reference for every insertion.
        if governor != nil,
            shard.pointee.credit.spend(min(cost, Self.largestCharge)) || (Self.isSixteenth(hash) && isLookOverdue)
        {
            spent = takeCredit(shard)
        }
        shard.pointee.publish()
        let isAlone = shard.pointee.published == nil
        unlock(shard)
        finish(departures, replacement: value)
        if let spent { renewCredit(spent, hash) { engine, bytes, price in engine.evictLeast(bytes, below: price) } }
        if isAlone, budget.entries.load(ordering: .relaxed) > Self.splitCount { split() }
        return true
    }

    /// What the entry is ranked by beside its use. Bytes count where bytes are what is short: under a count limit
    /// alone, every entry takes one place, whatever it costs.
    @inlinable
    @inline(__always)
    func density(cost: Int, recomputeCost: Double?) -> Density {
        if ordering == .reuse || (cost <= 1 && recomputeCost == nil) { return .one }
        let countsPlaces =
            budget.countLimit.load(ordering: .relaxed) > 0 && budget.costLimit.load(ordering: .relaxed) <= 0
        return Density(recomputeCost: recomputeCost, bytes: countsPlaces ? 1 : cost)
    }

    /// Refuses a value that is larger than the whole cache, and takes out what it was to replace. Where that is the very
    /// value refused, and the caller tells of refusals himself, its departure is the refusal and no other.
    @inlinable
    @inline(never)
    func refuse(
        _ shard: ShardPointer,
        _ slot: UInt32,
        _ held: inout HeldRoom,
        into departures: inout EntryDepartures<Key, Value>,
        _ value: Value
    ) {
        shard.pointee.refusals &+= 1
        var old: Entry<Key, Value>?
        if slot != 0 {
            held.takeOver(cost: shard.pointee.storage.cost(of: slot), in: budget)
            old = shard.pointee.remove(slot, cause: .costLimit)
        }
        held.release(in: budget)
        shard.pointee.publish()
        unlock(shard)
        guard let old else { return }
        if let hooks, !hooks.reportsIdenticalReplacement, hooks.isIdentical(old.value, value) { return }
        departures.append(old, cause: .costLimit)
    }

    /// Evicts one entry while `shard` is locked: from it if its least is due or no dearer than any other's, else from
    /// the cheapest shard if that can be had without waiting. Returns the victim's cost, its room being the caller's
    /// now; nil where it takes unlocking first.
    ///
    /// Due is what L has reached: it goes before L rises, whichever shard it is in. Taking it where one is spares a
    /// second lock, and keeps the shards equally full.
    @inlinable
    func evictHolding(
        _ shard: ShardPointer,
        for missing: RemovalCause,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Int? {
        let costlyOnly = missing == .costLimit
        if shard.pointee.published == nil {
            return evict(from: shard, costlyOnly: costlyOnly, cause: missing, into: &departures)
        }
        let height = shard.pointee.leastHeight(costlyOnly: costlyOnly)
        if height <= shard.pointee.ledger.pointee.inflation {
            return evict(from: shard, costlyOnly: costlyOnly, cause: missing, into: &departures)
        }
        guard let cheapest = cheapestShard(costlyOnly: costlyOnly, below: height) else {
            return evict(from: shard, costlyOnly: costlyOnly, cause: missing, into: &departures)
        }
        guard ShardLock(guarding: UnsafeMutableRawPointer(cheapest)).tryLock() else { return nil }
        let room = evict(from: cheapest, costlyOnly: costlyOnly, cause: missing, into: &departures)
        cheapest.pointee.publish()
        unlock(cheapest)
        return room
    }

    /// Evicts from a shard that has no slot number left: 2²⁴ entries.
    @usableFromInline
    @inline(never)
    func makeSlot(in shard: ShardPointer, into departures: inout EntryDepartures<Key, Value>) {
        if let cost = evict(from: shard, costlyOnly: false, cause: .countLimit, into: &departures) {
            budget.release(entries: 1, cost: cost)
        }
    }

    /// Whether this insertion is one of those that look at the clock: one in sixteen, wherever it goes. Shards that
    /// counted for themselves would all begin anew together when their credits are revoked.
    @inlinable
    @inline(__always)
    static func isSixteenth(_ hash: UInt64) -> Bool { hash & 0xF0_0000_0000 == 0 }

    /// Whether it is long since anybody looked at usage; see ``MemoryGovernor``.
    @usableFromInline
    @inline(never)
    var isLookOverdue: Bool { governor?.isLookOverdue ?? false }

    /// Takes the spent credit out of `shard`, leaving it without: until another is granted, every insertion asks.
    @inlinable
    func takeCredit(_ shard: ShardPointer) -> InsertionCredit {
        let spent = shard.pointee.credit
        shard.pointee.credit = InsertionCredit(grantedBytes: 0, leastCharge: spent.leastCharge)
        return spent
    }

    /// Asks the governor for another credit, with no lock held: it may evict, here and elsewhere.
    ///
    /// The governor knows a cache by a protocol, and what is called by a protocol is compiled for any key and value:
    /// evicting so takes six times as long. So whoever inserts first leaves an `evictor` compiled for those it has.
    @usableFromInline
    @inline(never)
    func renewCredit(_ spent: InsertionCredit, _ hash: UInt64, evictor: @escaping Evictor) {
        guard let account else { return }
        if spent.grantedBytes == 0 {
            settings.withLock { if $0.evictor == nil { $0.evictor = evictor } }
        }
        let credit = account.renew(spent, for: self)
        let shard = lockShard(hash)
        shard.pointee.credit = credit
        unlock(shard)
    }
}
