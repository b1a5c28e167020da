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
        if wanted &* 2 > Int(bitPattern: tableMask) &+ 1 { growTable(to: wanted &* 2) }
    }

    @inlinable
    @inline(never)
    mutating func growTable(to newSize: Int) {
        if oldTable != nil { moveWords(places: .max) }
        let size = Int(bitPattern: tableMask &+ 1)
        (oldTable, lastOldPlace, movedPlaces) = (table, UInt32(truncatingIfNeeded: tableMask), 0)
        table = Self.allocateZeros(newSize &* 4, from: stable).bindMemory(to: UInt32.self, capacity: newSize)
        tableMask = UInt(bitPattern: newSize &- 1)
        if size <= Self.mostRebuilt {
            forEachSlot { link($0, hash: hash(of: $0)) }
            movedPlaces = UInt32(truncatingIfNeeded: size)
            moveWords()
        }
    }

    /// Moves words from the old table to the present one: of 64 places where most are empty, of 16 where they are not.
    /// The present table is full after as many more insertions as there were entries; a tenth of them moves all words.
    @inlinable
    @inline(never)
    mutating func moveWords(places: Int = 64) {
        guard let oldTable else { return }
        var left = places
        while left > 0, movedPlaces <= lastOldPlace {
            let word = oldTable[Int(movedPlaces)]
            if word == 0 {
                movedPlaces &+= 1
                left &-= 1
            } else {
                // Emptying may move another word here.
                let slot = word & Self.slotMask
                empty(UInt(movedPlaces), of: oldTable, oldMask)
                link(slot, hash: hash(of: slot))
                left &-= 4
            }
        }
        guard movedPlaces > lastOldPlace else { return }
        free(UnsafeMutableRawPointer(oldTable), Int(bitPattern: oldMask &+ 1) &* 4)
        self.oldTable = nil
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
