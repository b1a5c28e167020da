//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims
public import Synchronization

// Lookups that take no lock.
//
// A lookup that takes its shard's lock writes the lock's cache line, and a line that another processor wrote last takes
// some 100 ns to come: with two threads that read the same cache, most would wait for one. So where keys are
// integers and values are trivial and small (no reference is counted when they are copied), a lookup reads only, and
// writes no more than a counter in a line of its own thread's.
//
// # How
//
// Each shard has a sequence beside its lock, two bits of which say whether somebody writes. It is a seqlock. The reader
// takes the sequence, reads on, and believes what it has read only if the sequence is still the same and says that
// nobody writes; else it waits for the writer and reads once more, and then takes the lock, as it does for everything
// that is not simple: entries with a lifetime, discardable content, the first use of an entry in its stay, of which the
// policy is to know, and what is not found while words move to a larger table. So what a reader writes is its own
// counter alone. Who sets or removes a value says so after it has looked the key up, so that fewer lookups meet it.
//
// # Hits while somebody inserts
//
// In a full cache most sections are insertions, each with an eviction, and hardly any hit is of the two entries that
// are concerned. So an insertion says by a bit of its own that it is one (``ShardLock/beginInserting()``), and then a
// reader believes a hit, if the section is the same at its end, and the entry was found used after its key and value
// were read. Two threads that get or set among 100,000 entries made 1.50 to 1.59 times the operations of one so, and
// 1.42 to 1.48 times before (medians, in three hours of one machine).
//
// # Why it is right
//
// 1. *No reader believes what a writer was changing.* A writer changes the sequence before it writes, with a release
//    fence between, and again afterwards, with a release store. So a reader that has seen any of its writes, and then
//    passes an acquire (every load of a word here is one, and a fence follows those of keys and values), finds the
//    sequence changed. That a key is not there is believed likewise: every insertion, and every word that moves,
//    changes the sequence. It counts 2³⁰ sections: a reader would have to be stopped between two of its instructions
//    while as many of the same shard pass, not one more or less.
// 2. *No reader touches memory that it may not read.* Three pointers that belong together (table, layout, slab) are used
//    only after the sequence was found unchanged behind them, a slot's number only after it was found unchanged behind
//    the word that it comes from; so each address lies in a table or a slab that was in use at that moment. It may go
//    out of use in the next moment, but stays readable (``StableMemory``).
// 3. *No reader goes on for ever.* Each step through the table looks at the sequence.
// 4. *Nothing of the user's is touched.* Keys are compared as bits. A value is trivial, and nobody looks into its bits
//    before they are believed.
// 5. *Whoever has set or removed a value finds it so afterwards.* The section has changed the sequence before the call
//    returns.
// 6. *A hit during an insertion is one before it.* The call that inserts has not returned, and what goes for it may
//    still be found. The slot that the next entry gets is made vacant before its number is written into the table or any
//    byte of the entry into the slot, with a release fence between, and no newcomer is used before the section ends. So
//    a reader that has seen a byte of the next entry, and then passes an acquire, finds the slot vacant or not used, or
//    the sequence changed. While such a section lasts, table and slab stay where they are, or addresses could not be
//    told from earlier ones: before one of them changes, hits are stopped (``CacheEngine/stopHits(in:)``). That a key is
//    not there is not believed: its word may be moving.
//
// The use of an entry could be noted without the lock, too, by a compare-exchange that a slot's next entry withstands.
// Memory out of use would have to be writable then, and the kernel to set memory aside for it. It brought two threads
// nothing: in a cache that is full, first uses are as rare as insertions, which lock anyway.
//
// Nothing of this relies on the memory order of one processor: it was run on x86 alone, where the acquires and the
// fences cost nothing, and holds by the C11 model but for two things: the bytes of keys and values are read as plain
// memory, and who has the lock writes most words of tables and entries as plain memory, behind the fences named above.
//
// # When
//
// Not before two threads met: a cache that one thread uses needs neither the counters nor ``StableMemory``. The thread
// that finds a shard's lock taken has reading switched on; see ``CacheEngine/admitReader()``.
//
// - SeeAlso: Lameter, "Effective Synchronization on Linux/NUMA Systems", 2005 (the kernel's seqlock); Boehm, "Can
//   Seqlocks Get Along With Programming Language Memory Models?", MSPC 2012.
extension CacheEngine {
    /// Whether keys and values are such that lookups may do without the lock. Known to the compiler.
    ///
    /// Values of up to a cache line. With larger ones the two ways of a hit, inlined side by side, cost its caller
    /// copies: 26 % more time with 200 bytes and one thread, 48 % with 1,000; none with 64.
    @inlinable
    @inline(always)
    static var readsWithoutLock: Bool {
        KeyHash<Key>.isInteger && _isPOD(Value.self) && MemoryLayout<Value>.size <= 64
    }

    /// What a lookup of `key` finds, a value or nil, if that is known without the lock; else nil, which says nothing.
    /// Counts as a use, and as a hit or a miss.
    @inlinable
    @inline(always)
    func valueWithoutLock(_ key: Key, _ hash: UInt64) -> Value?? {
        let readers = readers.load(ordering: .acquiring)
        guard ReaderCounts.areOn(readers) else { return nil }
        let line = cms_reader_line()
        guard line < ReaderCounts.end(readers) else { return admitReaderAndLeave() }

        // There is one: nobody is admitted before the first.
        let word = directory.load(ordering: .acquiring)
        let shard = CacheEngine.shard(CacheEngine.shardIndex(hash, of: word), of: word)
        let lock = ShardLock(guarding: UnsafeMutableRawPointer(shard))
        let sequence = lock.sequence.pointee.load(ordering: .acquiring)
        if sequence & ShardLock.writes != 0 || cms_load_acquire_u8(&shard.pointee.isElsewhere) != 0 { return nil }

        let table = UInt(cms_load_acquire_u64(&shard.pointee.storage.table))
        let layout = TableLayout(bits: UInt(cms_load_acquire_u64(&shard.pointee.storage.layout)))
        let slab = UInt(cms_load_acquire_u64(&shard.pointee.storage.entries))
        let placed = EntryStorage<Key, Value>.placed(hash, by: layout)
        let tag = EntryStorage<Key, Value>.tag(placed)
        var index = layout.home(placed)
        while true {
            guard lock.sequence.pointee.load(ordering: .relaxed) == sequence else { return nil }
            let place = UnsafeRawPointer(bitPattern: table &+ index &* 4).unsafelyUnwrapped
            let word = cms_load_acquire_u32(place)
            if word == 0 {
                // The keys that differed were read as plain memory. In a table before, the key may stand yet.
                cms_fence_acquire()
                guard sequence & ShardLock.inserts == 0,
                    cms_load_acquire_u64(&shard.pointee.storage.oldTable) == 0,
                    lock.sequence.pointee.load(ordering: .relaxed) == sequence
                else { return nil }
                ReaderCounts.countMiss(readers, line)
                return .some(nil)
            }
            index = layout.next(index)
            let slot = word ^ tag
            if slot > EntryStorage<Key, Value>.slotMask { continue }
            guard lock.sequence.pointee.load(ordering: .relaxed) == sequence else { return nil }
            let distance = UInt(slot) &* UInt(bitPattern: MemoryLayout<Entry<Key, Value>>.stride)
            let entry = UnsafeMutablePointer<Entry<Key, Value>>(bitPattern: slab &+ distance).unsafelyUnwrapped
            guard KeyHash.isEqual(entry.pointee.key, to: key) else { continue }
            let value = entry.pointee.value
            cms_fence_acquire()
            let info = cms_load_acquire_u32(&entry.pointee.meta.info.bits)
            guard info & (EntryInfo.slow | EntryInfo.touched) == EntryInfo.touched,
                lock.sequence.pointee.load(ordering: .relaxed) == sequence
            else { return nil }
            ReaderCounts.countHit(readers, line)
            return value
        }
    }

    /// Waits for whoever writes to the shard that `hash` leads to; false if that takes as long as a thread waits awake
    /// for a lock.
    ///
    /// Looks every four pauses of the processor, some 100 ns: a look takes the line away from the writer, who needs it
    /// once more at the end, and a set that evicts takes 110 to 120 ns.
    @usableFromInline
    func waitForWriter(_ hash: UInt64) -> Bool {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return false }
        let shard = Self.shard(Self.shardIndex(hash, of: word), of: word)
        let lock = ShardLock(guarding: UnsafeMutableRawPointer(shard))
        for _ in 0..<ShardLock.mostLooks / 4 {
            for _ in 0..<4 { cms_spin_hint() }
            if lock.sequence.pointee.load(ordering: .relaxed) & (ShardLock.writes | ShardLock.inserts) == 0 {
                return true
            }
        }
        return false
    }

    /// Whether a thread has the lock of the shard that `hash` leads to; what was true may not be any more.
    @usableFromInline
    func isLockHeld(_ hash: UInt64) -> Bool {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return false }
        let shard = Self.shard(Self.shardIndex(hash, of: word), of: word)
        return ShardLock(guarding: UnsafeMutableRawPointer(shard)).word.pointee.load(ordering: .relaxed) != 0
    }

    /// Says to readers that `shard`, which is locked, gets an entry more, for which others may go. Hits of those that
    /// stay go on meanwhile, until ``stopHits(in:)``. While words move to a larger table there are none.
    @inlinable
    @inline(always)
    func beginInserting(_ shard: ShardPointer) {
        guard CacheEngine.readsWithoutLock else { return }
        if shard.pointee.storage.oldTable != nil { return beginWriting(shard) }
        ShardLock(guarding: UnsafeMutableRawPointer(shard)).beginInserting()
    }

    /// Says to readers that more of `shard` is written to from here on than what ``beginInserting(_:)`` has said.
    @inlinable
    @inline(never)
    func stopHits(in shard: ShardPointer) { beginWriting(shard) }

    /// Says to readers that `shard`, which is locked, is written to from here on.
    @inlinable
    @inline(always)
    func beginWriting(_ shard: ShardPointer) {
        if CacheEngine.readsWithoutLock { ShardLock(guarding: UnsafeMutableRawPointer(shard)).beginWriting() }
    }

    /// Says that it is not any more.
    @inlinable
    @inline(always)
    func endWriting(_ shard: ShardPointer) {
        if CacheEngine.readsWithoutLock { ShardLock(guarding: UnsafeMutableRawPointer(shard)).endWriting() }
    }
}
