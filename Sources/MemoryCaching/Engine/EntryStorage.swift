//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims
public import Synchronization

/// A table of words over a slab of entries: where the entries of one shard are, and nothing else.
///
/// The table is open addressing with linear probing over words of {8-bit tag, 24-bit slot}, at most half full (eleven
/// sixteenths where memory is scarce and entries are small), so that a lookup mostly reads one cache line of the table
/// and one of the slab: of words that are not meant, the tag tells all but a sixteenth of those with the very same
/// home. Removal closes the gap behind it by shifting words back: there are no tombstones, and churn never makes probes
/// longer. Half a tag is the end of the home, so that shifting needs no look at the entries, which are seldom in the
/// processor's caches.
///
/// Slots are numbered from 1; 0 is none, which makes a word of 0 an empty one. Growing the slab moves pages, not bytes.
/// A table grows by a larger one beside it, to which each insertion moves a few words, so that none waits for all of
/// them; meanwhile what is not in the new table is looked for in the old one. Words move in the order of slots, and the
/// old table keeps those that have moved: of its words only those of slots from `movedSlots` on count. No key of unknown
/// code is hashed again for that: integers are hashed anew, of others 32 bits are in `identities`.
///
/// - SeeAlso: the incremental rehashing of Redis' `dict.c`.
///
/// A bundle of pointers whose owner, the shard, frees them by ``deallocate()``.
@usableFromInline
struct EntryStorage<Key: Hashable, Value> {
    // What an insertion writes comes first, in the cache line of the shard's lock. The rest changes as memory grows.
    @usableFromInline var held: UInt32 = 0
    /// The first slot never used, and the first of those that are vacant again.
    @usableFromInline var highWater: UInt32 = 1
    @usableFromInline var firstVacant: UInt32 = 0
    /// The generation of the newest entry: how many there were, modulo 2³².
    @usableFromInline var generation: UInt32 = 0

    @usableFromInline var table: UnsafeMutablePointer<UInt32>
    @usableFromInline var layout: TableLayout
    @usableFromInline var entries: UnsafeMutablePointer<Entry<Key, Value>>
    /// The smaller table whose words are moving to the present one; see ``growTable(to:)``.
    @usableFromInline var oldTable: UnsafeMutablePointer<UInt32>?
    /// Hash (low half) and generation (high half) by slot, where the key's type or the values' content needs them.
    @usableFromInline var identities: UnsafeMutablePointer<UInt64>?
    /// Cost by slot; none before the first entry that costs anything.
    @usableFromInline var costs: UnsafeMutablePointer<Int>?
    @usableFromInline var seed: HashSeed
    /// Slots there is memory for, slot 0 among them.
    @usableFromInline var capacity: Int
    @usableFromInline var oldLayout = TableLayout(bits: 0)
    /// While there is an old table: entries in slots below this have their words in the present one, and what the old
    /// one has of such slots means nothing any more.
    @usableFromInline var movedSlots: UInt32 = 0
    /// Words that crowds have cost and insertions have not made up for, and the low half of the generation at that
    /// moment; see ``noteCrowd(_:)``.
    @usableFromInline var crowding: UInt16 = 0
    @usableFromInline var crowdedAt: UInt16 = 0
    /// Where tables and slabs come from and go to once they may be read without the lock; nil before. The cache keeps
    /// it alive.
    @usableFromInline var stable: Unmanaged<StableMemory>?

    /// Entries held.
    @inlinable
    @inline(always)
    var count: Int { Int(held) }

    @inlinable @inline(always) static var tagMask: UInt32 { 0xFF00_0000 }
    @inlinable @inline(always) static var slotMask: UInt32 { 0x00FF_FFFF }

    /// As many entries as slots can be numbered.
    @inlinable var isFull: Bool { count >= Int(Self.slotMask) - 1 }

    /// Empty, with room for seven entries.
    @inlinable
    init(seed: HashSeed, keepsIdentities: Bool, stable: Unmanaged<StableMemory>? = nil) {
        self.seed = seed
        self.stable = stable
        layout = TableLayout(size: 16, isSpread: false)
        table = Self.allocateZeros(16 * 4, from: stable).bindMemory(to: UInt32.self, capacity: 16)
        capacity = 8
        entries = Self.allocateZeros(8 &* MemoryLayout<Entry<Key, Value>>.stride, from: stable)
            .assumingMemoryBound(to: Entry<Key, Value>.self)
        identities = keepsIdentities ? AlignedMemory.allocate(64).bindMemory(to: UInt64.self, capacity: 8) : nil
    }

    /// The slots as the policy sees them.
    @inlinable
    @inline(always)
    var view: SlabView {
        SlabView(base: UnsafeMutableRawPointer(entries), stride: MemoryLayout<Entry<Key, Value>>.stride)
    }

    /// The hash that places what has `hash` in a table of `layout`. Hashes of all keys but integers are spread already.
    @inlinable
    @inline(always)
    static func placed(_ hash: UInt64, by layout: TableLayout) -> UInt64 {
        KeyHash<Key>.isInteger && layout.isSpread ? KeyHash<Key>.spread(hash) : hash
    }

    @inlinable
    @inline(always)
    static func tag(_ placed: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: placed &>> 4) & tagMask }

    /// The word that a lookup of `hash` reads first.
    @inlinable
    @inline(always)
    func home(_ hash: UInt64) -> UnsafeMutablePointer<UInt32> {
        table + Int(bitPattern: layout.home(Self.placed(hash, by: layout)))
    }

    /// The generation of the entry at `slot`; 0 where none is kept.
    @inlinable
    func generation(of slot: UInt32) -> UInt32 {
        identities.map { UInt32(truncatingIfNeeded: $0[Int(slot)] &>> 32) } ?? 0
    }

    /// The hash of the entry at `slot`, without running code of the key's.
    @inlinable
    func hash(of slot: UInt32) -> UInt64 {
        if KeyHash<Key>.isInteger { return KeyHash.hash(entries[Int(slot)].key, seed: seed) }
        return KeyHash<Key>.expand(UInt32(truncatingIfNeeded: identities.unsafelyUnwrapped[Int(slot)]))
    }

    /// Whether there is an entry at `slot`.
    @inlinable
    func holds(_ slot: UInt32) -> Bool { slot < highWater && view[slot].pointee.info != .vacant }

    @inlinable
    func cost(of slot: UInt32) -> Int { costs.map { $0[Int(slot)] } ?? 0 }

    @inlinable
    mutating func setCost(_ cost: Int, of slot: UInt32) {
        if costs == nil {
            if cost == 0 { return }
            costs = AlignedMemory.allocateZeros(capacity &* 8).bindMemory(to: Int.self, capacity: capacity)
        }
        costs.unsafelyUnwrapped[Int(slot)] = cost
    }

    /// Puts an entry into a vacant slot and its word into the table. The key must not be there.
    ///
    /// Inlined, so that the entry is made where it is to lie. Made elsewhere and copied, it waits for its parts to be
    /// written there, which is 1 % of the time of getting or setting.
    @inlinable
    @inline(__always)
    mutating func insert(
        _ entry: consuming Entry<Key, Value>,
        hash: UInt64,
        keepsTable: Bool = false,
        sparing: Bool = false
    ) -> UInt32 {
        let slot = takeSlot(hash: hash, keepsTable: keepsTable, sparing: sparing)
        (entries + Int(slot)).initialize(to: entry)
        return slot
    }

    /// Whether `count` entries are too many for a table of `size` words: for more than half of them, or where memory is
    /// to be spared, eleven sixteenths.
    @inlinable
    @inline(always)
    static func isTooSmall(_ size: Int, for count: Int, sparing: Bool) -> Bool {
        count &* 2 > size && (!sparing || count &* 16 > size &* 11)
    }

    /// Whether the table is to be doubled soon, unless memory is to be spared.
    @inlinable
    @inline(always)
    var isAboutToGrow: Bool { Self.isTooSmall(layout.size, for: count &+ count / 8 &+ 1, sparing: false) }

    /// Whether an entry more changes neither table nor slab.
    @inlinable
    @inline(always)
    func hasPlace(sparing: Bool) -> Bool {
        !Self.isTooSmall(layout.size, for: count &+ 1, sparing: sparing)
            && (firstVacant != 0 || Int(highWater) < capacity)
            && (crowding == 0 || layout.isSpread || crowdingLeft <= Self.mostCrowding)
    }

    /// A vacant slot, whose entry is still to be made, with its word in the table.
    ///
    /// - Parameters:
    ///   - keepsTable: whether the table may not be changed, though keys crowd; there is a place then.
    ///   - sparing: whether the table is to be small rather than fast.
    @inlinable
    mutating func takeSlot(hash: UInt64, keepsTable: Bool, sparing: Bool = false) -> UInt32 {
        if Self.isTooSmall(layout.size, for: count &+ 1, sparing: sparing) { growTable(to: layout.size &* 2) }
        if oldTable != nil { moveWords() }
        var place = emptyPlace(for: hash)
        generation &+= 1
        if KeyHash<Key>.isInteger, place.passed > Self.crowd, noteCrowd(place.passed), !keepsTable {
            spread(sparing: sparing)
            place = emptyPlace(for: hash)
        }
        let slot: UInt32
        if firstVacant != 0 {
            slot = firstVacant
            firstVacant = view[slot].pointee.next
        } else {
            if Int(highWater) == capacity { growSlab(to: nextCapacity) }
            slot = highWater
            highWater &+= 1
        }
        if let identities {
            identities[Int(slot)] = UInt64(generation) &<< 32 | hash & 0xFFFF_FFFF
        }
        if let costs { costs[Int(slot)] = 0 }
        if CacheEngine<Key, Value>.readsWithoutLock {
            // Who reads the word, or any of the next entry's bytes, without the lock finds the slot vacant, or not used
            // yet. Said once more, by a store that no compiler may leave out because the next entry overwrites it.
            cms_store_relaxed_u32(&view[slot].pointee.info.bits, EntryInfo.vacant.bits)
            atomicMemoryFence(ordering: .releasing)
        }
        table[Int(bitPattern: place.index)] = place.tag | slot
        held &+= 1
        return slot
    }

    /// Where the word of what has `hash` is to stand, its tag, and how many words stand before it.
    @inlinable
    @inline(always)
    func emptyPlace(for hash: UInt64) -> (index: UInt, tag: UInt32, passed: UInt) {
        let placed = Self.placed(hash, by: layout)
        let home = layout.home(placed)
        var index = home
        while table[Int(bitPattern: index)] != 0 { index = layout.next(index) }
        return (index, Self.tag(placed), layout.distance(from: home, to: index))
    }

    /// Takes the entry, whose hash is `hash`, out of the table and its slot. Where it says that keys crowd, hashes are to
    /// be spread, unless the table must be kept: the caller finds that out where it is asked for, which is seldom.
    @inlinable
    @inline(always)
    mutating func take(_ slot: UInt32, hash: UInt64) -> (entry: Entry<Key, Value>, areCrowded: Bool) {
        if oldTable != nil { moveWords() }
        let passed = unlink(slot, hash: hash)
        let entry = (entries + Int(slot)).move()
        let meta = view[slot]
        meta.pointee.info = .vacant
        meta.pointee.next = firstVacant
        firstVacant = slot
        held &-= 1
        return (entry, KeyHash<Key>.isInteger && passed > Self.crowd && noteCrowd(passed))
    }

    /// In a table whose words move to another one: a word of no slot, in place of one that was removed. No words move
    /// back to its place: in a run that is as long as the table, each removal would look at all of them.
    @inlinable @inline(always) static var removedWord: UInt32 { tagMask }

    /// Takes the word of `slot` out of the table that it is in; returns how many words behind it were looked at.
    ///
    /// Mutating, as what it calls is, so that it reads in place: what only reads is given a copy of all pointers.
    @inlinable
    @discardableResult
    mutating func unlink(_ slot: UInt32, hash: UInt64) -> UInt {
        var index = layout.home(Self.placed(hash, by: layout))
        while true {
            let word = table[Int(bitPattern: index)]
            if word & Self.slotMask == slot { return empty(index) }
            if word == 0, oldTable != nil { break }
            index = layout.next(index)
        }
        index = oldLayout.home(Self.placed(hash, by: oldLayout))
        while oldTable.unsafelyUnwrapped[Int(bitPattern: index)] & Self.slotMask != slot {
            index = oldLayout.next(index)
        }
        oldTable.unsafelyUnwrapped[Int(bitPattern: index)] = Self.removedWord
        return 0
    }

    /// Empties the place `first` of the present table, and moves words back where else they would not be found any more;
    /// returns how many words it has looked at.
    @inlinable
    @discardableResult
    mutating func empty(_ first: UInt) -> UInt {
        var hole = first
        var index = hole
        // Words without a gap before the first hole; not known before it is asked for.
        var run: UInt = .max
        while true {
            index = layout.next(index)
            let word = table[Int(bitPattern: index)]
            if word == 0 { break }
            // How far the word is from its home, by the four bits of it that the tag has. It cannot be sixteen more
            // than that unless so many words stand before it without a gap.
            var distance = (index &- UInt(truncatingIfNeeded: word &>> 28)) & 15
            if distance < layout.distance(from: hole, to: index) {
                if run == .max { run = lengthOfRun(before: first) }
                if run &+ layout.distance(from: first, to: index) > 15 {
                    let placed = Self.placed(self.hash(of: word & Self.slotMask), by: layout)
                    distance = layout.distance(from: layout.home(placed), to: index)
                }
            }
            // The word may move back to the hole unless its home lies behind the hole.
            if distance >= layout.distance(from: hole, to: index) {
                table[Int(bitPattern: hole)] = word
                hole = index
            }
        }
        table[Int(bitPattern: hole)] = 0
        return layout.distance(from: first, to: index)
    }

    /// Words before `index` up to the next empty one, counted to 16.
    ///
    /// Out of line: the compiler unrolls it, and where it is inlined works out all sixteen places for each removal,
    /// though most ask for none.
    @inlinable
    @inline(never)
    mutating func lengthOfRun(before index: UInt) -> UInt {
        var run: UInt = 0
        while run < 16, table[Int(bitPattern: (index &- run &- 1) & layout.mask)] != 0 { run &+= 1 }
        return run
    }

    /// Calls `body` with every slot that holds an entry, in order of slots.
    @inlinable
    func forEachSlot(_ body: (UInt32) -> Void) {
        var slot: UInt32 = 1
        while slot < highWater {
            if view[slot].pointee.info != .vacant { body(slot) }
            slot &+= 1
        }
    }

    /// Frees the memory. Entries that are still in are not deinitialised.
    @inlinable
    func deallocate() {
        free(UnsafeMutableRawPointer(table), layout.size &* 4)
        if let oldTable { free(UnsafeMutableRawPointer(oldTable), oldLayout.size &* 4) }
        free(UnsafeMutableRawPointer(entries), capacity &* MemoryLayout<Entry<Key, Value>>.stride)
        if let identities { AlignedMemory.deallocate(UnsafeMutableRawPointer(identities), capacity &* 8) }
        if let costs { AlignedMemory.deallocate(UnsafeMutableRawPointer(costs), capacity &* 8) }
    }
}
