//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// One entry of the slab: 16 bytes for the cache, then what the user gave.
///
/// With 8-byte keys and values an entry is 32 bytes, two to a cache line and never across two.
@usableFromInline
struct Entry<Key, Value> {
    @usableFromInline var meta: EntryMeta
    @usableFromInline var key: Key
    @usableFromInline var value: Value

    @inlinable
    init(meta: EntryMeta, key: Key, value: Value) {
        self.meta = meta
        self.key = key
        self.value = value
    }
}

/// What the policy knows of an entry, at the beginning of its slot whatever the types of key and value are.
@usableFromInline
struct EntryMeta {
    /// H of GreedyDual: inflation when it was enqueued plus its worth, counted from the shard's base.
    @usableFromInline var height: Float
    @usableFromInline var info: EntryInfo
    /// Neighbours in the queue, by slot; 0 is none. In a vacant slot `next` is the next vacant one.
    @usableFromInline var previous: UInt32
    @usableFromInline var next: UInt32

    @inlinable
    init(info: EntryInfo) {
        height = 0
        self.info = info
        previous = 0
        next = 0
    }
}

/// 32 bits about an entry: its worth in codes, its level and its flags.
@usableFromInline
struct EntryInfo: Equatable {
    @usableFromInline var bits: UInt32

    @inlinable
    @inline(always)
    init(bits: UInt32) { self.bits = bits }

    // Layout: 0…9 code of the stay | 10…21 density code | 22…25 level | 26 touched | 27 first stay | 28 costless
    //         | 29 discardable | 30 expires | 31 order of use
    @inlinable @inline(always) static var touched: UInt32 { 1 << 26 }
    @inlinable @inline(always) static var firstStay: UInt32 { 1 << 27 }
    /// Costs nothing, so it is no victim for a cost limit.
    @inlinable @inline(always) static var costless: UInt32 { 1 << 28 }
    @inlinable @inline(always) static var discardable: UInt32 { 1 << 29 }
    @inlinable @inline(always) static var expires: UInt32 { 1 << 30 }
    /// Kept in order of use: a hit moves it to the end of its queue.
    @inlinable @inline(always) static var exact: UInt32 { 1 << 31 }
    /// Flags that take a hit off the fast path.
    @inlinable @inline(always) static var slow: UInt32 { discardable | expires | exact }

    /// What an entry keeps as long as its value's kind and worth are the same: density and all flags but those of use.
    @inlinable @inline(always) static var kind: UInt32 { 0xFFF << 10 | costless | slow }

    /// A slot without an entry: all flags at once, which no entry has (nothing costless is discardable *and* of level
    /// 15 on its first stay).
    @inlinable @inline(always) static var vacant: EntryInfo { EntryInfo(bits: .max) }

    @inlinable @inline(always) func has(_ flag: UInt32) -> Bool { bits & flag != 0 }

    /// The code of the stay that it bought when it was enqueued, also the number of its queue.
    @inlinable
    @inline(always)
    var stay: StayCode {
        get { StayCode(rawValue: bits & 0x3FF) }
        set { bits = bits & ~0x3FF | newValue.rawValue }
    }

    /// Recompute cost per byte, as a logarithm.
    @inlinable
    @inline(always)
    var density: Density {
        get { Density(code: Int32(bits >> 10 & 0xFFF)) }
        set { bits = bits & ~(0xFFF << 10) | UInt32(newValue.code) << 10 }
    }

    /// Of an entry in order of use, in place of density and level: more digits of its height, see ``FineHeight``.
    @inlinable
    @inline(always)
    var digits: UInt32 {
        get { bits >> 10 & EntryInfo.mostDigits }
        set { bits = bits & ~(EntryInfo.mostDigits << 10) | newValue << 10 }
    }
    @inlinable @inline(always) static var mostDigits: UInt32 { 0xFFFF }

    /// 1 … 15: how often it has been kept for a hit.
    @inlinable
    @inline(always)
    var level: Int {
        get { Int(bits >> 22 & 0xF) }
        set { bits = bits & ~(0xF << 22) | UInt32(newValue) << 22 }
    }
}
