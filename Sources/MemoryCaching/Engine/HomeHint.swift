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
/// The words of all shards stand together before the first of them, apart from the locks: as good as never written,
/// they stay in every processor's cache, whereas to read a lock's line before taking the lock is to ask for it twice.
@usableFromInline
struct HomeHint {
    /// The table's address, and in its low six bits the logarithm of its size.
    @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt>>

    /// The hint of shard `index` in a directory whose first lock lies at `address`.
    @inlinable
    @inline(__always)
    init(_ index: Int, before address: UInt) {
        word = UnsafeMutablePointer(bitPattern: address &- UInt(bitPattern: index &+ 1) &* 8).unsafelyUnwrapped
    }

    /// Bytes of the hints of `count` shards: whole cache lines.
    static func size(count: Int) -> Int { (count * 8 + 63) & ~63 }

    /// Makes the word of a new shard: no table.
    func initialize() { word.initialize(to: Atomic(0)) }

    /// Says that the table lies at `table`, with `mask` + 1 words. Under the lock.
    @inlinable
    @inline(__always)
    func publish(_ table: UnsafeMutablePointer<UInt32>, mask: UInt) {
        let value = UInt(bitPattern: table) | UInt(bitPattern: (mask &+ 1).trailingZeroBitCount)
        if word.pointee.load(ordering: .relaxed) != value { word.pointee.store(value, ordering: .relaxed) }
    }

    /// Asks for the line of the table that `hash` leads to. Without the lock.
    @inlinable
    @inline(__always)
    func prefetch(_ hash: UInt64) {
        let value = word.pointee.load(ordering: .relaxed)
        let index = UInt(truncatingIfNeeded: hash &>> 32) & ((1 &<< (value & 63)) &- 1)
        cms_prefetch(UnsafeRawPointer(bitPattern: (value & ~63) &+ index &* 4))
    }
}

/// Asks for the cache line of `address`, to be read soon; never faults.
@inlinable
@inline(__always)
func prefetch(_ address: UnsafeRawPointer?) { cms_prefetch(address) }
