//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

// Storing a value, in four steps: prepare (no lock), exchange in place, make room, store (one critical section).
extension CacheEngine {
    /// Stores `value`, evicting others where the limits ask for it.
    ///
    /// A value whose cost alone is larger than the total cost limit is refused, and what was stored under `key` goes
    /// too. In a cache that is ordered by worth, so is a new value that would displace entries worth more.
    ///
    /// - Parameter ticket: what a load has to show; nothing is stored if the key has changed since the load began.
    /// - Returns: whether the value was stored.
    @inlinable
    @inline(__always)
    @discardableResult
    package func setValue(
        _ value: Value,
        forKey key: Key,
        cost: Int = 0,
        recomputeCost: Double? = nil,
        expiresAfter lifetime: Duration? = nil,
        ticket: LoadTicket? = nil
    ) -> Bool {
        let condition = ticket.map { InsertionCondition.ticket($0) }
        return insert(
            value,
            forKey: key,
            cost: cost,
            recomputeCost: recomputeCost,
            expiresAfter: lifetime,
            if: condition
        ) == .stored
    }

    /// Stores `value` as ``setValue(_:forKey:cost:recomputeCost:expiresAfter:ticket:)`` does, if `condition` holds
    /// under the lock that it is stored under.
    @inlinable
    package func insert(
        _ value: Value,
        forKey key: Key,
        cost: Int,
        recomputeCost: Double?,
        expiresAfter lifetime: Duration?,
        if condition: InsertionCondition?
    ) -> InsertionOutcome {
        let hash = KeyHash.hash(key, seed: seed)
        var newcomer = prepare(value, hash, cost: max(0, cost), recomputeCost: recomputeCost, lifetime: lifetime)
        var (shard, slot) = locate(key, hash, toSet: true)
        if governor != nil, charge(newcomer, to: shard) {
            // Settled before anything is taken or stored: the governor may evict, run handlers, and wait.
            settleCredit(of: shard, hash)
            (shard, slot) = locate(key, hash, toSet: true)
        }
        if slot == Self.givenUp { return giveUp(value, forKey: key, newcomer, shard) }
        if slot != 0, newcomer.now == .min, condition == nil, hooks == nil,
            shard.pointee.isAlike(slot, newcomer.info, cost: newcomer.cost), !hasObserver.load(ordering: .relaxed)
        {
            var old = value
            shard.pointee.exchange(slot, hash, with: &old, cost: newcomer.cost)
            unlock(shard)
            withExtendedLifetime(old) {}
            return .stored
        }
        var departures = EntryDepartures<Key, Value>()
        var unasked = condition
        if newcomer.now != .min {
            let isOver = slot != 0 && shard.pointee.isOver(slot, at: newcomer.now)
            // Before an expired entry goes, which else stays as the fallback that it may be; and not again afterwards.
            if let condition, !holds(condition, shard, isOver ? 0 : slot) {
                unlock(shard)
                return .changed
            }
            unasked = nil
            removeExpired(shard, at: newcomer.now, isOver ? slot : 0, into: &departures)
            if isOver { slot = 0 }
        }
        var outcome = place(value, forKey: key, &newcomer, shard, slot, unasked, into: &departures)
        let isCrowded = shard.pointee.storage.held > shard.pointee.mostEntries
        unlock(shard)
        if outcome == .isLarge {
            finish(departures)
            departures = EntryDepartures()
            outcome = placeLarge(value, forKey: key, &newcomer, condition, into: &departures)
        }
        finish(departures, replacement: value)
        if isCrowded { split(shard.pointee.directory) }
        return outcome
    }

    /// Finds out all about a value on its way in that takes no lock: its density, content and lifetime.
    @inlinable
    @inline(__always)
    func prepare(
        _ value: Value,
        _ hash: UInt64,
        cost: Int,
        recomputeCost: Double?,
        lifetime: Duration?
    ) -> Newcomer {
        var info = EntryInfo(bits: 0)
        if ordering == .reuse {
            info.bits = EntryInfo.exact
        } else {
            info.density = density(cost: cost, recomputeCost: recomputeCost)
        }
        if cost == 0 { info.bits |= EntryInfo.costless }
        if let hooks {
            if hooks.isDiscardable(value) {
                info.bits |= EntryInfo.discardable
                hasDiscardable.store(true, ordering: .relaxed)
            }
            if hasDiscardable.load(ordering: .relaxed) { pruneDiscarded(for: cost) }
        }
        var newcomer = Newcomer(hash: hash, cost: cost, info: info)
        let beginning = lifetimes.beginning(lifetime)
        newcomer.now = beginning.now
        if let deadline = beginning.deadline {
            newcomer.deadline = deadline
            newcomer.info.bits |= EntryInfo.expires
        }
        return newcomer
    }

    /// What the entry is ranked by beside its use. Bytes count where bytes are what is short: under a count limit
    /// alone, every entry takes one place, whatever it costs.
    @inlinable
    @inline(__always)
    func density(cost: Int, recomputeCost: Double?) -> Density {
        if cost <= 1 && recomputeCost == nil { return .one }
        let countsPlaces = limits.count.load(ordering: .relaxed) > 0 && limits.cost.load(ordering: .relaxed) <= 0
        return Density(recomputeCost: recomputeCost, bytes: countsPlaces ? 1 : cost)
    }

    /// Makes room for a newcomer in `shard`, which is locked and stays so, and stores it: in place of the entry at
    /// `slot`, or as a new one where that is 0.
    @inlinable
    @inline(__always)
    func place(
        _ value: Value,
        forKey key: Key,
        _ newcomer: inout Newcomer,
        _ shard: ShardPointer,
        _ slot: UInt32,
        _ condition: InsertionCondition?,
        into departures: inout EntryDepartures<Key, Value>
    ) -> InsertionOutcome {
        if let condition, !holds(condition, shard, slot) { return .changed }
        if exceedsCostLimit(newcomer) {
            refuse(value, forKey: key, newcomer, shard, slot, into: &departures)
            return .refused
        }
        if slot == 0, !newcomer.hasLevel {
            shard.pointee.admit(newcomer.hash, &newcomer.info, residents: entryCount(shard))
            newcomer.hasLevel = true
        }
        var isInOrder = slot != 0
        switch makeRoom(for: &newcomer, replacing: slot, &isInOrder, in: shard, into: &departures) {
        case .made:
            store(value, forKey: key, &newcomer, shard, slot, isInOrder: isInOrder, into: &departures)
            return .stored
        case .refused:
            refuse(value, forKey: key, newcomer, shard, 0, into: &departures)
            return .refused
        case .beyondShard:
            if slot != 0, !isInOrder { shard.pointee.enqueue(slot) }
            return .isLarge
        }
    }

    /// Asks for what an insertion into a full cache needs of `shard`, which is locked, beside its first two lines,
    /// which every lookup reads: the third to the eighth, the ghost of `hash`, and the word and the ghost's place of
    /// the entry that will go for it as a rule. So they come together, and not one after the other. Only where
    /// something was evicted before.
    @inlinable
    @inline(always)
    func prefetchForExchange(_ hash: UInt64, in shard: ShardPointer) {
        guard shard.pointee.ghosts.ghosts != nil else { return }
        let block = UnsafeRawPointer(shard) - ShardLock.distance
        var distance = 128
        while distance < 512 {
            prefetch(block + distance)
            distance &+= 64
        }
        shard.pointee.prefetchExchange(hash)
    }

    /// Puts the value in, for which there is room, in `shard`, which is locked.
    @inlinable
    @inline(__always)
    func store(
        _ value: Value,
        forKey key: Key,
        _ newcomer: inout Newcomer,
        _ shard: ShardPointer,
        _ slot: UInt32,
        isInOrder: Bool,
        into departures: inout EntryDepartures<Key, Value>
    ) {
        if slot == 0 {
            if shard.pointee.storage.isFull { makeSlot(in: shard, into: &departures) }
            let sparesTable = shard.pointee.sparesTable
            var keepsTable = shard.pointee.keepsTable
            if keepsTable, !shard.pointee.storage.hasPlace(sparing: sparesTable) {
                stopHits(in: shard)
                keepsTable = false
            }
            shard.pointee.insert(key, value, &newcomer, keepsTable: keepsTable, sparesTable: sparesTable)
            // Of few entries each one tells; of many, the others are told now and then.
            if shard.pointee.isFew { shard.pointee.publish() }
        } else {
            if isInOrder { shard.pointee.unlink(slot) }
            let old = shard.pointee.replace(slot, with: value, newcomer)
            departures.append(old, cause: .replaced)
        }
    }

    /// Evicts from a shard that has no slot number left: 2²⁴ entries.
    @usableFromInline
    @inline(never)
    func makeSlot(in shard: ShardPointer, into departures: inout EntryDepartures<Key, Value>) {
        guard let cost = evict(from: shard, cause: .countLimit, into: &departures) else { return }
        shard.pointee.room.pointee.giveBack(places: 1, cost: cost)
    }

    // MARK: Refusal

    @inlinable
    @inline(__always)
    func exceedsCostLimit(_ newcomer: Newcomer) -> Bool {
        let limit = limits.cost.load(ordering: .relaxed)
        return limit > 0 && newcomer.cost > limit
    }

    /// Refuses a value whose key may have an entry or not: another one has come with each comparison.
    @inlinable
    @inline(never)
    func giveUp(_ value: Value, forKey key: Key, _ newcomer: Newcomer, _ shard: ShardPointer) -> InsertionOutcome {
        var departures = EntryDepartures<Key, Value>()
        refuse(value, forKey: key, newcomer, shard, 0, into: &departures)
        unlock(shard)
        finish(departures)
        return .refused
    }

    /// Refuses a newcomer, with `shard` locked: takes out what it was to replace, at `slot`, and has both told of.
    ///
    /// What is refused is set and evicted in one. An entry that it would have replaced by the very same object was set
    /// and evicted once, so that is told once.
    @inlinable
    @inline(never)
    func refuse(
        _ value: Value,
        forKey key: Key,
        _ newcomer: Newcomer,
        _ shard: ShardPointer,
        _ slot: UInt32,
        into departures: inout EntryDepartures<Key, Value>
    ) {
        shard.pointee.counters.refusals &+= 1
        // It was charged.
        shard.pointee.release(newcomer.cost)
        if slot != 0 {
            shard.pointee.room.pointee.giveBack(places: 1, cost: shard.pointee.storage.cost(of: slot))
            departures.append(shard.pointee.remove(slot, cause: .costLimit), cause: .costLimit)
        }
        departures.refused = .init(
            key: key,
            value: value,
            cause: .costLimit,
            isDiscardable: newcomer.info.has(EntryInfo.discardable)
        )
    }
}
