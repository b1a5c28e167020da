//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

// Storing a value that its shard cannot pay for. One at a time in each cache: two of them never divide the room between
// them.
extension CacheEngine {
    /// What was found under a key before the locks of a large insertion were taken.
    @usableFromInline
    struct Finding {
        @usableFromInline var slot: UInt32
        @usableFromInline var generation: UInt32
        /// Of the shard's newest entry: a younger one of the same hash has not been compared.
        @usableFromInline var newest: UInt32
        @usableFromInline var cost: Int
        /// The height from which on an entry is worth more than the newcomer; see ``isWorthLess(_:in:than:in:)``.
        @usableFromInline var worth: Double

        @inlinable
        init(slot: UInt32, generation: UInt32, newest: UInt32, cost: Int, worth: Double) {
            (self.slot, self.generation, self.newest, self.cost) = (slot, generation, newest, cost)
            self.worth = worth
        }
    }

    /// Collects room from all shards, the entries worth least first, and stores the newcomer.
    ///
    /// While it collects, others draw no limited cost and leave it one place: they pay by victims of their own. So all
    /// that is evicted here adds up, and the call ends. Keys are compared before; if a candidate of the same hash has
    /// appeared meanwhile, the room goes back and the call begins anew, because no `==` runs while a lock is held.
    @inlinable
    @inline(never)
    func placeLarge(
        _ value: Value,
        forKey key: Key,
        _ newcomer: inout Newcomer,
        _ condition: InsertionCondition?,
        into departures: inout EntryDepartures<Key, Value>
    ) -> InsertionOutcome {
        while true {
            let (shard, slot) = locate(key, newcomer.hash, toSet: true)
            if slot == Self.givenUp { return giveUp(value, forKey: key, newcomer, shard) }
            let finding = noteFinding(of: newcomer, shard, slot)
            unlock(shard)
            // What has expired goes before what lives, as far as it is in the way: not all of a million for one insertion.
            if newcomer.now != .min, !UserCode.isRunning {
                sweepExpired(while: { missing(for: newcomer, finding) != nil })
            }
            beginLarge()
            let isWorthIt = collectRoom(for: newcomer, finding, into: &departures)
            let outcome = placeCollected(
                value,
                forKey: key,
                &newcomer,
                finding,
                isWorthIt,
                condition,
                into: &departures
            )
            endLarge()
            if let outcome { return outcome }
            finish(departures)
            departures = EntryDepartures()
        }
    }

    /// Stores the newcomer with the room that has been collected; nil where the key or the room has changed meanwhile.
    @inlinable
    func placeCollected(
        _ value: Value,
        forKey key: Key,
        _ newcomer: inout Newcomer,
        _ finding: Finding,
        _ isWorthIt: Bool,
        _ condition: InsertionCondition?,
        into departures: inout EntryDepartures<Key, Value>
    ) -> InsertionOutcome? {
        let shard = lockShard(newcomer.hash)
        // Whatever comes of it: an entry that was spared while room was collected can go again.
        defer {
            shard.pointee.publish()
            unlock(shard)
        }
        guard isUnchanged(finding, key, newcomer.hash, in: shard) else { return nil }
        let slot = finding.slot
        if let condition, !holds(condition, shard, slot) { return .changed }
        if exceedsCostLimit(newcomer) {
            refuse(value, forKey: key, newcomer, shard, slot, into: &departures)
            return .refused
        }
        if !isWorthIt {
            refuse(value, forKey: key, newcomer, shard, 0, into: &departures)
            return .refused
        }
        let room = shard.pointee.room
        guard slot != 0 || room.pointee.drawPlace(within: limits, forLarge: true) else { return nil }
        let needed = newcomer.cost &- finding.cost
        if needed < 0 {
            room.pointee.giveBack(places: 0, cost: 0 &- needed)
        } else if !room.pointee.draw(cost: needed, within: limits, forLarge: true) {
            if slot == 0 { room.pointee.giveBack(places: 1, cost: 0) }
            return nil
        }
        store(value, forKey: key, &newcomer, shard, slot, isInOrder: slot != 0, into: &departures)
        return .stored
    }

    @inlinable
    func noteFinding(of newcomer: Newcomer, _ shard: ShardPointer, _ slot: UInt32) -> Finding {
        let storage = shard.pointee.storage
        return Finding(
            slot: slot,
            generation: slot == 0 ? 0 : storage.generation(of: slot),
            newest: storage.generation,
            cost: slot == 0 ? 0 : storage.cost(of: slot),
            worth: shard.pointee.inflation + 2 * Double(shard.pointee.stayBought(by: newcomer.info))
        )
    }

    /// Whether `key` still stands where it was found, or still nowhere, without comparing foreign keys.
    @inlinable
    func isUnchanged(_ finding: Finding, _ key: Key, _ hash: UInt64, in shard: ShardPointer) -> Bool {
        if KeyHash<Key>.isInteger {
            let slot = shard.pointee.storage.find(key, hash) ?? 0
            return slot == finding.slot && (slot == 0 || shard.pointee.storage.cost(of: slot) == finding.cost)
        }
        var isThere = finding.slot == 0
        var hasNewer = false
        shard.pointee.storage.forEachCandidate(hash) { slot in
            let generation = shard.pointee.storage.generation(of: slot)
            // A replacement keeps the generation, and may cost something else.
            if slot == finding.slot, generation == finding.generation {
                isThere = shard.pointee.storage.cost(of: slot) == finding.cost
            }
            if Int32(bitPattern: generation &- finding.newest) > 0 { hasNewer = true }
            return true
        }
        return isThere && !hasNewer
    }

    /// Evicts until the newcomer fits. False where a further victim would be worth more than the newcomer.
    @inlinable
    func collectRoom(
        for newcomer: Newcomer,
        _ finding: Finding,
        into departures: inout EntryDepartures<Key, Value>
    ) -> Bool {
        guard let room else { return true }
        var victims = 0
        var isSure = false
        while let missing = missing(for: newcomer, finding) {
            let isRefusable = ordering == .worth && victims > 0 && missing == .costLimit && finding.slot == 0
            switch evictOne(
                cause: missing,
                below: isRefusable ? finding.worth : .infinity,
                sparing: finding.slot == 0 ? nil : (newcomer.hash, finding.slot),
                into: &departures
            ) {
            case .evicted(let cost):
                victims += 1
                isSure = false
                room.pointee.giveBack(places: 1, cost: cost)
            case .tooDear: return false
            case .none:
                // What the spared entry takes is not what it took when it was found: that is seen under its lock.
                if isSure, finding.slot != 0 { return true }
                isSure = true
                // What is missing lies in stocks, or in entries that have come since the shards published.
                drainStocks()
                publishAll()
            }
        }
        return true
    }

    /// What the newcomer cannot have yet; nil where it fits, or never will.
    @inlinable
    func missing(for newcomer: Newcomer, _ finding: Finding) -> RemovalCause? {
        guard let room else { return nil }
        let (countLimit, costLimit) = (limits.count.load(ordering: .relaxed), limits.cost.load(ordering: .relaxed))
        if finding.slot == 0, !room.pointee.hasPlace(within: countLimit) { return .countLimit }
        let needed = newcomer.cost &- finding.cost
        return newcomer.cost > costLimit || room.pointee.has(cost: needed, within: costLimit) ? nil : .costLimit
    }

    /// Waits for another large insertion to end, and has the room to itself from then on.
    @usableFromInline
    func beginLarge() {
        guard let room else { return }
        ShardLock(guarding: room).lock()
        limits.isReserved.store(true, ordering: .sequentiallyConsistent)
    }

    @usableFromInline
    func endLarge() {
        guard let room else { return }
        limits.isReserved.store(false, ordering: .sequentiallyConsistent)
        ShardLock(guarding: room).unlock()
    }
}
