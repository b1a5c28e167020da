//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims
public import Synchronization

/// Where a shard's table lies, for those who are still on their way to its lock.
///
/// The processor can fetch the line of the table that a key leads to while the lock is being taken, which it cannot
/// begin by itself: no load passes the locked exchange. What it is told may be out of date, and is then of no use, and
/// of no harm: asking for a line never faults.
///
/// The words of all shards stand together, apart from the locks: as good as never written, they stay in every
/// processor's cache, whereas to read a lock's line before taking the lock is to ask for it twice.
@usableFromInline
struct TablePlace {
    /// The table's cache lines in the low 22 bits, and above them the bits 6 to 47 of its address: processes get no
    /// higher addresses unless they ask for them.
    @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt64>>

    init(_ word: UnsafeMutablePointer<Atomic<UInt64>>) { self.word = word }

    /// That of shard `index`, where the first one's lock lies at `first`.
    @inlinable
    @inline(always)
    init(_ index: Int, before first: UnsafeMutableRawPointer) {
        word = (first - (index &+ 1) &* 8).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Bytes of the places of `count` shards: whole cache lines.
    static func size(count: Int) -> Int { (count * 8 + 63) & ~63 }

    /// Makes the word of a new shard: no table.
    func initialize() { word.initialize(to: Atomic(0)) }

    /// Says that a table of `capacity` words of 32 bits lies at `table`, where a cache line begins. Under the lock.
    @inlinable
    @inline(always)
    func publish(_ table: UnsafeMutablePointer<UInt32>, capacity: Int) {
        let lines = UInt64(truncatingIfNeeded: (capacity &+ 15) &>> 4)
        let value = UInt64(UInt(bitPattern: table)) &<< 16 | lines
        if word.pointee.load(ordering: .relaxed) != value { word.pointee.store(value, ordering: .relaxed) }
    }

    /// Asks for the line of the table with the word at `place`, a function of the table's capacity. Without the lock.
    @inlinable
    @inline(always)
    func prefetch(_ place: (_ capacity: Int) -> Int) {
        let value = word.pointee.load(ordering: .relaxed)
        let address = UInt(truncatingIfNeeded: value &>> 16) & ~63
        let capacity = Int(truncatingIfNeeded: value & 0x3F_FFFF) &<< 4
        cms_prefetch(UnsafeRawPointer(bitPattern: address &+ UInt(bitPattern: place(capacity)) &* 4))
    }
}

/// Asks for the cache line of `address`, to be read soon; never faults.
@inlinable
@inline(always)
func prefetch(_ address: UnsafeRawPointer?) { cms_prefetch(address) }

/// Asks for the object that the reference at `address` leads to: its count and first fields.
@inlinable
@inline(always)
func prefetchObject(at address: UnsafeRawPointer) {
    prefetch(UnsafeRawPointer(bitPattern: address.loadUnaligned(as: UInt.self)))
}
