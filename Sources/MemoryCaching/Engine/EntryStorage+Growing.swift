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

    /// Words that are a crowd in a table of up to 4,096; four more for each doubling, see ``isCrowd(_:)``.
    @inlinable static var crowd: UInt { 24 }

    /// Whether keys crowd where an insertion passes `words`, or where a removal looks at as many.
    ///
    /// Of 3,000 to 16,000 keys at one of 24 distances, .8 to 1.8 % of tables keep lookups that read more than three
    /// words on average, and the worst of 25,000 read 9.7; without a limit, 2.3 % and 317. A limit of 56 words leaves
    /// 1.5 to 2.6 % and 19.
    ///
    /// A full table of random keys has a run of such length by chance, the sooner the larger it is, and then multiplies
    /// twice without need: at 24 words for all sizes 41 % of tables of 16,000 keys and 81 % of tables of 62,500, whose
    /// hits took 4 to 10 % longer. The longest run of random keys in a half full table grows by 3.6 words with each
    /// doubling (the chance of one falls by a factor of 1.21 a word: Knuth, The Art of Computer Programming, 6.4,
    /// linear probing). With four words for each, 10 to 14 % of full tables of 16,384 words and more spread their hashes.
    @inlinable
    @inline(always)
    func isCrowd(_ words: UInt) -> Bool {
        if words <= Self.crowd { return false }
        let doublings = max(layout.size.trailingZeroBitCount, 12) &- 12
        return words > Self.crowd &+ 4 &* UInt(bitPattern: doublings)
    }

    /// Spreads hashes from here on, where keys are integers.
    ///
    /// While words move from a smaller table nothing happens: the next crowd will do it. The table is made larger where
    /// else it would be full before all words have moved, see ``moveWords(places:)``.
    @inlinable
    @inline(never)
    mutating func spread() {
        if layout.isSpread || oldTable != nil { return }
        let size = (count &+ count / 8 &+ 1) &* 2 > layout.size ? layout.size &* 2 : layout.size
        makeTable(TableLayout(size: size, isSpread: true))
    }

    @inlinable
    mutating func makeTable(_ newLayout: TableLayout) {
        if oldTable != nil { moveWords(places: .max) }
        let size = layout.size
        (oldTable, oldLayout, movedPlaces) = (table, layout, 0)
        table = Self.allocateZeros(newLayout.size &* 4, from: stable)
            .bindMemory(to: UInt32.self, capacity: newLayout.size)
        layout = newLayout
        if size <= Self.mostRebuilt {
            forEachSlot { link($0, hash: hash(of: $0)) }
            movedPlaces = UInt32(truncatingIfNeeded: size)
            moveWords()
        }
    }

    /// Moves words from the old table to the present one: of 64 places where most are empty, of 16 where they are not.
    /// The present table is full after as many more insertions as there were entries; a tenth of them moves all words.
    /// From the last place down, because no word behind the last one of a run has to move into the gap.
    @inlinable
    @inline(never)
    mutating func moveWords(places: Int = 64) {
        guard let oldTable else { return }
        var left = places
        while left > 0, Int(movedPlaces) < oldLayout.size {
            let place = oldLayout.mask &- UInt(movedPlaces)
            let word = oldTable[Int(bitPattern: place)]
            if word == 0 {
                movedPlaces &+= 1
                left &-= 1
            } else {
                let slot = word & Self.slotMask
                // The last places of the table may get words that stand in its first ones.
                empty(place, of: oldTable, oldLayout)
                link(slot, hash: hash(of: slot))
                left &-= 4
            }
        }
        guard Int(movedPlaces) == oldLayout.size else { return prefetchNextWords() }
        free(UnsafeMutableRawPointer(oldTable), oldLayout.size &* 4)
        self.oldTable = nil
    }

    /// Asks for what the next call of ``moveWords(places:)`` hashes: the words of a table lead to entries anywhere, and
    /// waiting for them was a fifth of the time of filling a cache with a million.
    @inlinable
    func prefetchNextWords() {
        let end = min(Int(movedPlaces) &+ 32, oldLayout.size)
        for place in Int(movedPlaces)..<end {
            let word = oldTable.unsafelyUnwrapped[Int(bitPattern: oldLayout.mask) &- place]
            if word == 0 { continue }
            let slot = Int(word & Self.slotMask)
            if let identities { prefetch(identities + slot) } else { prefetch(entries + slot) }
        }
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
