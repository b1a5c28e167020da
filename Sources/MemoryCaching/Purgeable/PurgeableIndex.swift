//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// One shard of the index of a ``PurgeableCache``: from keys to places in the log, in ordinary memory.
///
/// A table of 32-bit words (8 bits of hash, 24 bits of slot) with linear probing, and 16-byte entries in chunks that
/// never move. The table is filled between 60 and 80 percent and grows by a third, not by doubling, so that the index
/// takes 16 bytes an item and 5 to 7 for its word: 8 of them are the key itself where it is an integer.
///
/// Not the table of ``EntryStorage``: that is mostly a quarter to a half full, for the sake of short probes, and its words
/// would take 8 to 16 bytes an item, up to half of what the index takes. Here a lookup copies a value besides, and
/// probes a few words longer are a small part of it.
///
/// Pure data: no lock, no log, no keys but words. Removed words leave tombstones, which are swept out when the table
/// is rebuilt.
struct PurgeableIndex: ~Copyable {
    struct Entry {
        /// An integer key's bits, or the word of another key; in a free slot the next free one.
        var word: UInt64
        /// A ``LogLocation``; 0 in a free slot.
        var location: UInt64
    }

    static var chunkSize: Int { ChunkedSlots<Entry>.chunkSize }
    static let maximumSlots = 1 << 24 - 2
    private static let empty: UInt32 = 0
    private static let tombstone: UInt32 = 1
    private static let slotMask: UInt32 = 0xFF_FFFF
    /// One 64-byte line of words.
    private static let leastCapacity = 16

    private(set) var table: UnsafeMutablePointer<UInt32>
    /// Words in the table.
    private(set) var capacity: Int
    /// Words that are not empty, tombstones among them.
    private var occupied = 0
    private var entries = ChunkedSlots<Entry>(alignment: AlignedMemory.alignment)
    private var firstFree: UInt64 = .max

    /// Entries.
    private(set) var count = 0
    /// Slots that are or were in use: entries are among `0 ..< slotCount`.
    private(set) var slotCount = 0

    init() {
        capacity = Self.leastCapacity
        table = Self.makeTable(capacity)
    }

    deinit {
        table.deallocate()
        entries.deallocate()
    }

    /// The entry in `slot`.
    @inline(__always)
    subscript(slot: Int) -> UnsafeMutablePointer<Entry> { entries[slot] }

    /// Calls `body` with each slot that may hold the key, until it answers false.
    @inline(__always)
    func forEachCandidate(_ hash: IndexHash, word: UInt64, _ body: (Int) -> Bool) {
        forEachTagged(hash) { slot in self[slot].pointee.word == word ? body(slot) : true }
    }

    /// Calls `body` with each slot whose hash has the same place and tag, until it answers false.
    @inline(__always)
    func forEachTagged(_ hash: IndexHash, _ body: (Int) -> Bool) {
        let tag = hash.tag
        var place = hash.place(capacity: capacity)
        while true {
            let candidate = table[place]
            if candidate == Self.empty { return }
            if candidate >> 24 == tag, candidate & Self.slotMask > 1 {
                guard body(Int(candidate & Self.slotMask) - 2) else { return }
            }
            place += 1
            if place == capacity { place = 0 }
        }
    }

    /// Adds an entry, which must not be there yet, and answers its slot; nil when the shard is full (16 M entries).
    mutating func insert(_ hash: IndexHash, word: UInt64, location: UInt64, seed: HashSeed) -> Int? {
        if (occupied + 1) * 5 > capacity * 4 { rebuild(seed: seed) }
        guard let slot = takeSlot() else { return nil }
        self[slot].pointee = Entry(word: word, location: location)
        place(hash, slot: slot)
        count += 1
        return slot
    }

    /// Removes the entry in `slot`.
    mutating func remove(_ slot: Int, _ hash: IndexHash) {
        let wanted = hash.tag << 24 | UInt32(slot + 2)
        var place = hash.place(capacity: capacity)
        while table[place] != wanted {
            place += 1
            if place == capacity { place = 0 }
        }
        let next = place + 1 == capacity ? 0 : place + 1
        if table[next] == Self.empty {
            // Nothing was ever pushed past this word: it needs no tombstone, and the ones before it neither.
            table[place] = Self.empty
            occupied -= 1
            place = place == 0 ? capacity - 1 : place - 1
            while table[place] == Self.tombstone {
                table[place] = Self.empty
                occupied -= 1
                place = place == 0 ? capacity - 1 : place - 1
            }
        } else {
            table[place] = Self.tombstone
        }
        self[slot].pointee = Entry(word: firstFree, location: 0)
        firstFree = UInt64(slot)
        count -= 1
    }

    // MARK: Growing

    private static func makeTable(_ capacity: Int) -> UnsafeMutablePointer<UInt32> {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: capacity * 4, alignment: 64)
        return bytes.initializeMemory(as: UInt32.self, repeating: empty, count: capacity)
    }

    /// Puts a slot's word into the first place that is empty or a tombstone.
    private mutating func place(_ hash: IndexHash, slot: Int) {
        var place = hash.place(capacity: capacity)
        while table[place] > Self.tombstone {
            place += 1
            if place == capacity { place = 0 }
        }
        if table[place] == Self.empty { occupied += 1 }
        table[place] = hash.tag << 24 | UInt32(slot + 2)
    }

    /// Makes a table that the present entries fill to 60 percent.
    private mutating func rebuild(seed: HashSeed) {
        table.deallocate()
        let wanted = (count + 1) * 5 / 3
        capacity = max(Self.leastCapacity, (wanted + Self.leastCapacity - 1) & ~(Self.leastCapacity - 1))
        table = Self.makeTable(capacity)
        occupied = 0
        for slot in 0..<slotCount {
            let entry = self[slot].pointee
            if entry.location != 0 { place(IndexHash(entry.word, seed: seed), slot: slot) }
        }
    }

    private mutating func takeSlot() -> Int? {
        if firstFree != .max {
            let slot = Int(firstFree)
            firstFree = self[slot].pointee.word
            return slot
        }
        guard slotCount < Self.maximumSlots else { return nil }
        if slotCount == entries.capacity { entries.addChunk() }
        slotCount += 1
        return slotCount - 1
    }

    /// Bytes of ordinary memory behind the index.
    var byteCount: Int { capacity * 4 + entries.byteCount }
}
