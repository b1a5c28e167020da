//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// From a key to its slot.
extension EntryStorage {
    /// The slot of `key`, or nil. For keys whose `==` is harmless.
    ///
    /// Mutating, as what it calls is, so that it reads in place: what only reads is given a copy of all pointers.
    @inlinable
    @inline(always)
    mutating func find(_ key: Key, _ hash: UInt64) -> UInt32? {
        if let slot = find(key, hash, in: table, layout, from: 0) { return slot }
        guard let oldTable else { return nil }
        return find(key, hash, in: oldTable, oldLayout, from: movedSlots)
    }

    /// The slot of `key` by the words of `table` that are of slots from `first` on.
    @inlinable
    @inline(always)
    mutating func find(
        _ key: Key,
        _ hash: UInt64,
        in table: UnsafeMutablePointer<UInt32>,
        _ layout: TableLayout,
        from first: UInt32
    ) -> UInt32? {
        let placed = Self.placed(hash, by: layout)
        let tag = Self.tag(placed)
        var index = layout.home(placed)
        while true {
            let word = table[Int(bitPattern: index)]
            if word == 0 { return nil }
            // Of a word with this tag the slot is left, of any other more than a slot.
            let slot = word ^ tag
            if slot <= Self.slotMask, slot >= first, KeyHash.isEqual(entries[Int(slot)].key, to: key) { return slot }
            index = layout.next(index)
        }
    }

    /// The slot of the very object `key`, or of one of its hash whose key is surely equal; or 0 and how many other
    /// slots have its stored hash, with the last of them. Runs no code of the key's and counts no reference.
    ///
    /// Mutating for the same reason as ``find(_:_:)``.
    ///
    /// - Parameter isConstant: whether an object like `key` never changes, and with it its hash. One that has changed
    ///   since it was stored must not be found where its new hash leads: of the tag's eight bits a small table's home
    ///   has four, so one in 256 would be.
    @inlinable
    @inline(always)
    mutating func findWithoutComparing(
        _ key: Key,
        _ hash: UInt64,
        isConstant: Bool,
        _ isSurelyEqual: (_ address: UnsafeRawPointer) -> Bool
    ) -> (slot: UInt32, candidate: UInt32, candidateCount: Int) {
        let placed = Self.placed(hash, by: layout)
        let tag = Self.tag(placed)
        var index = layout.home(placed)
        while true {
            let word = table[Int(bitPattern: index)]
            if word == 0 {
                if oldTable == nil { return (0, 0, 0) }
                break
            }
            let slot = word ^ tag
            if slot <= Self.slotMask {
                // A constant needs no look at its hash: a cache line less, as most tags that match are meant.
                if KeyHash.areIdentical(at: keyAddress(of: slot), key), isConstant || hasStoredHash(hash, slot) {
                    return (slot, 0, 0)
                }
                break
            }
            index = layout.next(index)
        }
        return findOther(key, hash, isSurelyEqual)
    }

    /// What ``findWithoutComparing(_:_:_:)`` does where the first entry of its tag is not the very object. A function
    /// of its own, so that others keep no registers for candidates.
    @inlinable
    @inline(never)
    func findOther(
        _ key: Key,
        _ hash: UInt64,
        _ isSurelyEqual: (_ address: UnsafeRawPointer) -> Bool
    ) -> (slot: UInt32, candidate: UInt32, candidateCount: Int) {
        let found = findOther(key, hash, in: table, layout, from: 0, isSurelyEqual)
        guard found.slot == 0, let oldTable else { return found }
        let old = findOther(key, hash, in: oldTable, oldLayout, from: movedSlots, isSurelyEqual)
        return (old.slot, max(found.candidate, old.candidate), found.candidateCount &+ old.candidateCount)
    }

    @inlinable
    @inline(always)
    func findOther(
        _ key: Key,
        _ hash: UInt64,
        in table: UnsafeMutablePointer<UInt32>,
        _ layout: TableLayout,
        from first: UInt32,
        _ isSurelyEqual: (_ address: UnsafeRawPointer) -> Bool
    ) -> (slot: UInt32, candidate: UInt32, candidateCount: Int) {
        let placed = Self.placed(hash, by: layout)
        let tag = Self.tag(placed)
        var index = layout.home(placed)
        var (candidate, count): (UInt32, Int) = (0, 0)
        while true {
            let word = table[Int(bitPattern: index)]
            if word == 0 { return (0, candidate, count) }
            let slot = word & Self.slotMask
            if word & Self.tagMask == tag, slot >= first, hasStoredHash(hash, slot) {
                let address = keyAddress(of: slot)
                if KeyHash.areIdentical(at: address, key) || isSurelyEqual(address) { return (slot, candidate, count) }
                candidate = slot
                count &+= 1
            }
            index = layout.next(index)
        }
    }

    /// Whether the entry at `slot`, whose key's type is no integer, was stored by a hash with the low half of `hash`.
    @inlinable
    @inline(always)
    func hasStoredHash(_ hash: UInt64, _ slot: UInt32) -> Bool {
        UInt32(truncatingIfNeeded: identities.unsafelyUnwrapped[Int(slot)]) == UInt32(truncatingIfNeeded: hash)
    }

    @inlinable
    @inline(always)
    func keyAddress(of slot: UInt32) -> UnsafeRawPointer {
        let distance =
            (MemoryLayout<EntryMeta>.size &+ MemoryLayout<Key>.alignment &- 1) & ~(MemoryLayout<Key>.alignment &- 1)
        return UnsafeRawPointer(entries + Int(slot)) + distance
    }

    /// Asks for the object that is the key at `slot`, where keys are references and nothing else.
    @inlinable
    @inline(always)
    func prefetchKey(of slot: UInt32) {
        guard !_isPOD(Key.self), MemoryLayout<Key>.size == MemoryLayout<UInt>.size else { return }
        prefetchObject(at: keyAddress(of: slot))
    }

    /// Calls `body` with the slots whose stored hash is that of `hash`, until it says to stop.
    @inlinable
    func forEachCandidate(_ hash: UInt64, _ body: (UInt32) -> Bool) {
        if forEachCandidate(hash, in: table, layout, from: 0, body), let oldTable {
            _ = forEachCandidate(hash, in: oldTable, oldLayout, from: movedSlots, body)
        }
    }

    /// Whether `body` never said to stop.
    @inlinable
    func forEachCandidate(
        _ hash: UInt64,
        in table: UnsafeMutablePointer<UInt32>,
        _ layout: TableLayout,
        from first: UInt32,
        _ body: (UInt32) -> Bool
    ) -> Bool {
        let placed = Self.placed(hash, by: layout)
        let tag = Self.tag(placed)
        var index = layout.home(placed)
        while true {
            let word = table[Int(bitPattern: index)]
            if word == 0 { return true }
            let slot = word & Self.slotMask
            if word & Self.tagMask == tag, slot >= first, hasStoredHash(hash, slot), !body(slot) { return false }
            index = layout.next(index)
        }
    }

    /// The slot of the entry of `generation`, whose hash is `hash`; 0 where it has gone.
    @inlinable
    func slot(ofGeneration generation: UInt32, _ hash: UInt64) -> UInt32 {
        var found: UInt32 = 0
        forEachCandidate(hash) { slot in
            if self.generation(of: slot) == generation { found = slot }
            return found == 0
        }
        return found
    }
}
