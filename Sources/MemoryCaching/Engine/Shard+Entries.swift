//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// The entries of a shard: in, exchanged, replaced, out.
extension Shard {
    /// Says at what level a newcomer begins: on its first stay, or higher if its ghost is still here. To be asked
    /// before anything is evicted for it, lest the victim's ghost takes the place of its own.
    @inlinable
    mutating func admit(_ hash: UInt64, _ info: inout EntryInfo, residents: Int) {
        let density = info.density
        evidence.insertions &+= 1
        evidence.densities += density.octaves
        if weights.meanDensity.isNaN || evidence.insertions >= 64 { settleEvidence(residents: residents) }
        guard let ghost = ghosts.take(hash, inflation: inflation) else {
            info.level = 1
            info.bits |= EntryInfo.firstStay
            return
        }
        let weight = weights.weight(ofClass: ghost.class)
        let gain = weights.stay(weight: weight, density: density)
        if Float(ghost.age) <= gain {
            evidence.hits[ghost.class] += 1
            evidence.hitDensity += density.octaves - weights.meanDensity
        }
        // A return proves more than one touch.
        info.level = 3
    }

    /// Asks for the ghost of `hash`, and for the word and the ghost's place of the entry that will go for it as a rule.
    @inlinable
    @inline(always)
    func prefetchExchange(_ hash: UInt64) {
        ghosts.prefetch(hash)
        let victim = order.likelyVictim
        if victim == 0 { return }
        let departing = storage.hash(of: victim)
        prefetch(storage.home(departing))
        ghosts.prefetch(departing)
    }

    /// Tells those on their way to the lock where the table lies.
    @inlinable
    @inline(__always)
    func publishTable() { tablePlace.publish(storage.table, capacity: storage.layout.size) }

    /// Puts a new entry in, whose room is reserved and whose level and flags are set.
    ///
    /// The newcomer is not changed; handed over as it is, it would be copied.
    @inlinable
    mutating func insert(
        _ key: Key,
        _ value: Value,
        _ newcomer: inout Newcomer,
        keepsTable: Bool,
        sparesTable: Bool
    ) {
        let (info, hash) = (newcomer.info, newcomer.hash)
        let entry = Entry(meta: EntryMeta(info: info), key: key, value: value)
        let slot = storage.insert(entry, hash: hash, keepsTable: keepsTable, sparing: sparesTable)
        publishTable()
        storage.setCost(newcomer.cost, of: slot)
        if info.has(EntryInfo.expires) { schedule(slot, deadline: newcomer.deadline) }
        enqueue(slot)
        if info.has(EntryInfo.exact) {
            noteArrival(info)
            publishFirst(slot)
        }
        insertions &+= 1
        if SampledUses.includes(hash) { noteInsertion(newcomer) }
    }

    /// Whether a new value of `info` and `cost` may simply take the place of the old at `slot`: the entry is worth what
    /// it was worth, and nothing of it but the order by worth is to be kept.
    @inlinable
    @inline(__always)
    func isAlike(_ slot: UInt32, _ info: EntryInfo, cost: Int) -> Bool {
        let old = storage.view[slot].pointee.info
        return (old.bits ^ info.bits) & EntryInfo.kind == 0 && !info.has(EntryInfo.slow)
            && cost == storage.cost(of: slot)
    }

    /// Takes note, for the account of memory, that what an entry of `cost` held is free.
    @inlinable
    @inline(__always)
    mutating func release(_ cost: Int) { credit.release(min(cost, CacheEngine<Key, Value>.largestCharge)) }

    /// Exchanges the value of an entry, which is a use of it like a lookup, and puts the old one into `value`. Both have
    /// `cost`.
    @inlinable
    @inline(__always)
    mutating func exchange(_ slot: UInt32, _ hash: UInt64, with value: inout Value, cost: Int) {
        let entry = storage.entries + Int(slot)
        let info = entry.pointee.meta.info
        entry.pointee.meta.info.bits = info.bits | EntryInfo.touched
        if !info.has(EntryInfo.touched), SampledUses.includes(hash) { noteTouch(info, hash) }
        exchanges &+= 1
        release(cost)
        swap(&entry.pointee.value, &value)
    }

    /// Puts a new value in place of the old, which is returned with its entry's old flags. The entry, which has been
    /// taken out of the order, goes to the end of its queue; having been replaced is no use of it.
    @inlinable
    mutating func replace(_ slot: UInt32, with value: Value, _ newcomer: Newcomer) -> Entry<Key, Value> {
        let (meta, new) = (storage.view[slot], newcomer.info)
        var old = meta.pointee
        if old.info.has(EntryInfo.expires) { wheel!.cancel(slot) }
        noteReplacement(of: old, by: newcomer)
        var info = new
        if !new.has(EntryInfo.exact) {
            info.level = max(1, old.info.level)
            info.bits |= old.info.bits & (EntryInfo.touched | EntryInfo.firstStay)
        }
        meta.pointee.info = info
        release(storage.cost(of: slot))
        storage.setCost(newcomer.cost, of: slot)
        if info.has(EntryInfo.expires) { schedule(slot, deadline: newcomer.deadline) }
        enqueue(slot)
        if info.has(EntryInfo.exact) {
            if (info.bits ^ old.info.bits) & EntryInfo.costless != 0 { noteChange(to: info) }
            publishFirst(slot)
        }
        insertions &+= 1
        counters.removals[.replaced] &+= 1
        let key = storage.entries[Int(slot)].key
        let oldValue = storage.entries[Int(slot)].value
        storage.entries[Int(slot)].value = value
        old.next = 0
        return Entry(meta: old, key: key, value: oldValue)
    }

    /// Takes an entry out, for `cause`.
    @inlinable
    mutating func remove(_ slot: UInt32, cause: RemovalCause) -> Entry<Key, Value> {
        remove(slot, hash: storage.hash(of: slot), cause: cause)
    }

    /// Inlined, and what it calls too: an entry that one function hands to the next is written in parts and read as a
    /// whole, for which the processor waits. So a set that evicts takes 4 % less.
    @inlinable
    @inline(always)
    mutating func remove(_ slot: UInt32, hash: UInt64, cause: RemovalCause) -> Entry<Key, Value> {
        let info = storage.view[slot].pointee.info
        let height = info.has(EntryInfo.exact) ? fineHeight(of: slot) : 0
        unlink(slot)
        if info.has(EntryInfo.expires) { wheel!.cancel(slot) }
        if SampledUses.includes(hash) { noteDeparture(of: storage.view[slot].pointee, hash, cause) }
        counters.removals[cause] &+= 1
        // The governor counts for itself what it has evicted.
        if cause != .memoryPressure { release(storage.cost(of: slot)) }
        let (entry, areCrowded) = storage.take(slot, hash: hash)
        if areCrowded, !keepsTable { storage.spread(sparing: sparesTable) }
        if info.has(EntryInfo.exact) { noteDeparture(info, height: height) }
        return entry
    }

    /// Whether the lifetime of the entry at `slot` is over. It may still be there as a fallback.
    @inlinable
    func isOver(_ slot: UInt32, at now: Int64) -> Bool { wheel.map { $0.deadline(of: slot) <= now } ?? false }

    @inlinable
    mutating func schedule(_ slot: UInt32, deadline: EntryDeadline) {
        if wheel == nil { wheel = TimerWheel() }
        wheel!.schedule(slot, deadline: deadline)
    }
}
