//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Growing: the slab by moving pages, the table by a larger one beside it, to which insertions move a few words each.
extension EntryStorage {
    /// Words of a table up to which it is rebuilt at once: half as many entries, in some 100 µs.
    @inlinable static var mostRebuilt: Int { 1 << 14 }

    /// Takes memory for `count` entries at once, where there are none yet.
    @usableFromInline
    mutating func reserve(_ count: Int) {
        var wanted = capacity
        // Slot 0 is none.
        while wanted <= count { wanted &*= 2 }
        if wanted > capacity { growSlab(to: wanted) }
        if wanted &* 2 > layout.size { growTable(to: wanted &* 2) }
    }

    /// Takes a table of `newSize` words, to which all words move.
    @inlinable
    @inline(never)
    mutating func growTable(to newSize: Int) { makeTable(TableLayout(size: newSize, isSpread: layout.isSpread)) }

    /// Words that an insertion may pass, or a removal look at, without being counted as a crowd.
    @inlinable static var crowd: UInt { 16 }

    /// Words in crowds that a table has credit for; each insertion adds one to what is left of it.
    @inlinable static var mostCrowding: UInt { 256 }

    /// Notes that an insertion has passed `words`, or that a removal has looked at as many, and says whether keys
    /// crowd: whether crowds cost more than one word for each insertion, and ``mostCrowding`` at once.
    ///
    /// Random keys lie in crowds by chance, too; the longer a cache evicts and inserts, the longer is the longest of
    /// them. Spread at the first of more than 24 words, of full tables of random keys nearly all multiplied twice after
    /// 20 turnovers, without need: getting or setting took 9 % more. By what crowds cost, 0 to 8 % do so (400 tables
    /// each of 500 to 16,000 keys).
    ///
    /// Of as many keys at one of 24 distances, .9 to 2.1 % of 2,400 tables keep lookups that read more than three words
    /// on average, and the worst reads 7. Without a limit, 2.3 % and 317.
    @inlinable
    @inline(never)
    mutating func noteCrowd(_ words: UInt) -> Bool {
        let sum = crowdingLeft &+ words
        crowding = UInt16(min(sum, UInt(UInt16.max)))
        crowdedAt = UInt16(truncatingIfNeeded: generation)
        return sum > Self.mostCrowding
    }

    /// Words that crowds have cost and that insertions since have not made up for.
    @inlinable var crowdingLeft: UInt {
        let elapsed = UInt(UInt16(truncatingIfNeeded: generation) &- crowdedAt)
        return UInt(crowding) > elapsed ? UInt(crowding) &- elapsed : 0
    }

    /// Spreads hashes from here on, where keys are integers.
    ///
    /// While words move from a smaller table nothing happens: the next crowd will do it. The table is made larger where
    /// else it would be full before all words have moved, see ``moveWords(of:)``.
    @inlinable
    @inline(never)
    mutating func spread(sparing: Bool = false) {
        if layout.isSpread || oldTable != nil { return }
        let isTooSmall = Self.isTooSmall(layout.size, for: count &+ count / 8 &+ 1, sparing: sparing)
        let size = isTooSmall ? layout.size &* 2 : layout.size
        makeTable(TableLayout(size: size, isSpread: true))
    }

    @inlinable
    mutating func makeTable(_ newLayout: TableLayout) {
        if oldTable != nil { moveWords(of: .max) }
        (oldTable, oldLayout, movedSlots) = (table, layout, 1)
        crowding = 0
        table = Self.allocateZeros(newLayout.size &* 4, from: stable)
            .bindMemory(to: UInt32.self, capacity: newLayout.size)
        layout = newLayout
        if oldLayout.size > Self.mostRebuilt { return }
        // Each page is written before it is read: else reading it maps a page of zeros, and writing it another one.
        for place in stride(from: 0, to: newLayout.size, by: 4096 / 4) { table[place] = 0 }
        moveWords(of: .max)
    }

    /// Gives the entries of the next `slots` slots their words in the present table, whose words so far are those of
    /// insertions since it was made. It is full after as many more of them as there were entries; a sixteenth of them
    /// moves all words. Removals do so, too, lest words stay where they crowd when nothing is inserted any more.
    ///
    /// In the order of slots, as entries are then read in a row. With the order of the old table, which was emptied
    /// behind the words, filling a cache with a million entries took a third longer.
    @inlinable
    @inline(never)
    mutating func moveWords(of slots: UInt32 = 16) {
        guard let oldTable else { return }
        let end = movedSlots &+ min(slots, highWater &- movedSlots)
        var slot = movedSlots
        while slot < end {
            prefetchHome(slot &+ 16)
            if view[slot].pointee.info != .vacant { link(slot, hash: hash(of: slot)) }
            slot &+= 1
        }
        movedSlots = end
        if end < highWater { return }
        free(UnsafeMutableRawPointer(oldTable), oldLayout.size &* 4)
        self.oldTable = nil
    }

    /// Asks for the place in the present table that the word of `slot` leads to: places are anywhere. A million
    /// insertions took 170 ns each without it, and 148 with it (beside a suite of tests).
    @inlinable
    @inline(always)
    func prefetchHome(_ slot: UInt32) {
        if slot < highWater, view[slot].pointee.info != .vacant { prefetch(home(hash(of: slot))) }
    }

    /// Puts the word of `slot`, whose hash is `hash`, into the present table, unless it is there: a slot that becomes
    /// vacant and is taken again while words move has its word already.
    @inlinable
    @inline(always)
    func link(_ slot: UInt32, hash: UInt64) {
        let placed = Self.placed(hash, by: layout)
        var index = layout.home(placed)
        while true {
            let word = table[Int(bitPattern: index)]
            if word == 0 { break }
            if word & Self.slotMask == slot { return }
            index = layout.next(index)
        }
        table[Int(bitPattern: index)] = Self.tag(placed) | slot
    }

    /// Slots of the slab when it is full: four times as many while it is small, then twice.
    ///
    /// Growing a mapping is work for the kernel, and pages that are not written take no memory. So the first mapping of
    /// a slab has 64 KiB at least. 100,000 insertions into a new cache took 102 ns each where every slab was doubled,
    /// and 95 to 96 so.
    @inlinable var nextCapacity: Int {
        let stride = MemoryLayout<Entry<Key, Value>>.stride
        var grown = capacity &* (capacity &* stride < 1 << 18 ? 4 : 2)
        if AlignedMemory.isMapped(grown &* stride) { while grown &* stride < 1 << 16 { grown &*= 2 } }
        return grown
    }

    @inlinable
    @inline(never)
    mutating func growSlab(to grown: Int) {
        let stride = MemoryLayout<Entry<Key, Value>>.stride
        entries = Self.grow(UnsafeMutableRawPointer(entries), from: capacity &* stride, to: grown &* stride, in: stable)
            .assumingMemoryBound(to: Entry<Key, Value>.self)
        identities = identities.map {
            AlignedMemory.grow(UnsafeMutableRawPointer($0), from: capacity &* 8, to: grown &* 8)
                .assumingMemoryBound(to: UInt64.self)
        }
        costs = costs.map {
            AlignedMemory.grow(UnsafeMutableRawPointer($0), from: capacity &* 8, to: grown &* 8)
                .assumingMemoryBound(to: Int.self)
        }
        capacity = grown
    }

    // MARK: Memory of tables and slabs

    @usableFromInline
    static func allocateZeros(_ byteCount: Int, from stable: Unmanaged<StableMemory>?) -> UnsafeMutableRawPointer {
        stable?.takeUnretainedValue().allocateZeros(byteCount) ?? AlignedMemory.allocateZeros(byteCount)
    }

    @usableFromInline
    static func grow(
        _ memory: UnsafeMutableRawPointer,
        from byteCount: Int,
        to newByteCount: Int,
        in stable: Unmanaged<StableMemory>?
    ) -> UnsafeMutableRawPointer {
        stable?.takeUnretainedValue().grow(memory, from: byteCount, to: newByteCount)
            ?? AlignedMemory.grow(memory, from: byteCount, to: newByteCount)
    }

    @usableFromInline
    func free(_ memory: UnsafeMutableRawPointer, _ byteCount: Int) {
        if let stable {
            stable.takeUnretainedValue().retire(memory, byteCount)
        } else {
            AlignedMemory.deallocate(memory, byteCount)
        }
    }
}
