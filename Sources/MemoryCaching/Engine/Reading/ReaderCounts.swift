//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims
internal import Synchronization

/// Lookups that threads have counted without a lock: a block of cache lines, one for each thread's number.
///
/// A thread adds to its own line with a plain load and a plain store, for no other living thread has its number. Blocks
/// stay as long as the cache: one that has become too small for a thread's number gets a larger one before it.
@usableFromInline
struct ReaderCounts {
    /// Where the block begins, and in the low six bits the logarithm of its lines; 0 where there is none. In a block of
    /// one line nobody counts: it says that reading without a lock is being switched on.
    let word: UInt

    /// In the line of number 0, which no thread has.
    private struct Header {
        var previous: UInt
        var stable: Unmanaged<StableMemory>
    }

    private static var lineSize: Int { Int(CMS_READER_LINE) }

    /// Makes a block of `1 << logarithm` lines, with the one before it.
    init(logarithm: Int, previous: UInt, stable: Unmanaged<StableMemory>) {
        let block = AlignedMemory.allocateZeros(Self.lineSize << logarithm)
        block.initializeMemory(as: Header.self, to: Header(previous: previous, stable: stable))
        word = UInt(bitPattern: block) | UInt(logarithm)
    }

    init(word: UInt) { self.word = word }

    private var block: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: word & ~63).unsafelyUnwrapped }
    private var count: Int { 1 << Int(word & 63) }

    var stable: Unmanaged<StableMemory> { block.load(as: Header.self).stable }
    var previous: ReaderCounts? {
        let word = block.load(as: Header.self).previous
        return word == 0 ? nil : ReaderCounts(word: word)
    }

    /// The logarithm of the lines of a block in which the thread whose line is at `line` can count: at least eight.
    static func logarithm(for line: UInt64) -> Int {
        Int.bitWidth - (max(7, Int(line) / lineSize)).leadingZeroBitCount
    }

    /// What was counted here and in the blocks before.
    var lookups: LookupCounters {
        var sum = previous?.lookups ?? LookupCounters()
        for index in 1..<max(1, count) {
            let line = block + index * Self.lineSize
            sum.hits &+= Int(truncatingIfNeeded: cms_load_relaxed_u64(line))
            sum.misses &+= Int(truncatingIfNeeded: cms_load_relaxed_u64(line + 8))
        }
        return sum
    }

    func deallocate() { AlignedMemory.deallocate(block, Self.lineSize * count) }

    // MARK: What a lookup asks

    /// The line behind the last one of the block `word`.
    @inlinable
    @inline(always)
    static func end(_ word: UInt) -> UInt64 { UInt64(CMS_READER_LINE) &<< UInt64(word & 63) }

    /// Whether threads count in the block `word`.
    @inlinable
    @inline(always)
    static func areOn(_ word: UInt) -> Bool { word & 63 != 0 }

    @inlinable
    @inline(always)
    static func countHit(_ word: UInt, _ line: UInt64) { increment(at: word & ~63 &+ UInt(line)) }

    @inlinable
    @inline(always)
    static func countMiss(_ word: UInt, _ line: UInt64) { increment(at: word & ~63 &+ UInt(line) &+ 8) }

    @inlinable
    @inline(always)
    static func increment(at address: UInt) {
        let counter = UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped
        cms_store_relaxed_u64(counter, cms_load_relaxed_u64(counter) &+ 1)
    }
}

extension CacheEngine {
    /// Whether any thread is admitted at all.
    static var admitsReaders: Bool { readsWithoutLock && StableMemory.isAllowed }

    /// Makes hits without a lock possible for the calling thread, from its next lookup on; see `OptimisticReading`.
    ///
    /// Does nothing before there is a shard, nor where ``StableMemory`` is not allowed.
    @usableFromInline
    @inline(never)
    func admitReader() {
        if directory.load(ordering: .acquiring) == 0 || !Self.admitsReaders { return }
        let line = cms_take_reader_line()
        if line == CMS_NO_LINE { return }
        while true {
            let word = readers.load(ordering: .acquiring)
            if line < ReaderCounts.end(word) { return }
            guard word != 0 else {
                publish(ReaderCounts(logarithm: 0, previous: 0, stable: .passRetained(StableMemory())), after: 0)
                continue
            }
            let present = ReaderCounts(word: word)
            if !ReaderCounts.areOn(word) { keepMemoryReadable(present.stable) }
            let logarithm = ReaderCounts.logarithm(for: line)
            publish(ReaderCounts(logarithm: logarithm, previous: word, stable: present.stable), after: word)
        }
    }

    /// ``admitReader()`` for a lookup that then takes the lock.
    @usableFromInline
    @inline(never)
    func admitReaderAndLeave() -> Value?? {
        admitReader()
        return nil
    }

    /// Has whoever writes from here on retire what it takes out of use. Moves no entries: shards to which they are
    /// still to move get it from those that have them.
    private func keepMemoryReadable(_ stable: Unmanaged<StableMemory>) {
        var word = directory.load(ordering: .acquiring)
        while true {
            for index in 0..<1 << Int(word & 63) {
                let shard = Self.shard(index, of: word)
                if keepMemoryReadable(stable, of: shard) { continue }
                if let origin = shard.pointee.origin, keepMemoryReadable(stable, of: origin) { continue }
                // They have come meanwhile, or have moved on to a later directory.
                _ = keepMemoryReadable(stable, of: shard)
            }
            // A directory that comes later takes its entries over from shards that were all asked.
            let present = directory.load(ordering: .acquiring)
            if present == word { return }
            word = present
        }
    }

    /// Whether the entries are in `shard`, which then keeps its memory readable.
    private func keepMemoryReadable(_ stable: Unmanaged<StableMemory>, of shard: ShardPointer) -> Bool {
        lock(shard)
        defer { unlock(shard) }
        if shard.pointee.isElsewhere { return false }
        shard.pointee.storage.stable = stable
        return true
    }

    private func publish(_ counts: ReaderCounts, after word: UInt) {
        if readers.compareExchange(expected: word, desired: counts.word, ordering: .acquiringAndReleasing).exchanged {
            return
        }
        if word == 0 { counts.stable.release() }
        counts.deallocate()
    }

    /// Lookups that no shard has counted.
    var lookupsWithoutLock: LookupCounters {
        let word = readers.load(ordering: .acquiring)
        return word == 0 ? LookupCounters() : ReaderCounts(word: word).lookups
    }

    /// Lets go of the counts and of the memory that was kept readable.
    func destroyReaderCounts() {
        var word = readers.load(ordering: .acquiring)
        if word == 0 { return }
        ReaderCounts(word: word).stable.release()
        while word != 0 {
            let counts = ReaderCounts(word: word)
            word = counts.previous?.word ?? 0
            counts.deallocate()
        }
    }
}
