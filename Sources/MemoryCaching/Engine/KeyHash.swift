//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How keys of one type become 64 well-mixed bits, and whether they may be compared under a lock.
///
/// The parts of a hash and who uses them; the hash is made once, before any lock:
///
/// | bits | for |
/// |---|---|
/// | 57…63 | the shard |
/// | 32…56 | the home in the shard's table, of an integer perhaps of the spread hash (``TableLayout``) |
/// | 28…35 | the tag beside the slot in the table: four bits of the home, and four others |
/// | 16…47 | the set of the ghost table, of the spread hash |
/// | 0…15 | the fingerprint in the ghost table, of the spread hash; its lowest four bits choose the sample |
///
/// Fixed-width integers go through one folded multiply (as in wyhash), where SipHash takes longer than the rest of a
/// hit. It has a secret factor of the cache, which keeps chosen keys from colliding: with a public one, a hit of 4,096
/// keys that were searched for took 50 times as long as one of random keys. Each factor is a bad one for some distances
/// between keys, which crowd then in a table or leave sets of the ghost table empty; ``spread(_:)`` mends that by a
/// second multiply, with a public factor. Ghosts and the sample always use it, and a table from when keys crowd in it;
/// shards need not: the fullest of 64 had 1.2 times the mean in the worst of 960 caches. Text is hashed
/// by its bytes (`HashSeed+Text`). All other keys keep the standard library's SipHash. Of all but integers, 32 bits are
/// kept beside the entry and everything else is made from them, so that no key is hashed again: a mutated key cannot
/// poison the table. ``PurgeableCache`` places its entries by the same words (``IndexHash``).
@usableFromInline
package enum KeyHash<Key: Hashable> {
    /// Whether the key is a fixed-width integer, so cheap to hash that its hash is not stored.
    @inlinable
    @inline(always)
    static var isInteger: Bool {
        Key.self == Int.self || Key.self == UInt64.self || Key.self == UInt.self || Key.self == Int64.self
            || Key.self == UInt32.self || Key.self == Int32.self || Key.self == UInt16.self
            || Key.self == Int16.self || Key.self == UInt8.self || Key.self == Int8.self
    }

    /// Whether comparing `key` by `==` under a lock is harmless: it runs nobody else's code and takes no long time.
    ///
    /// Text is compared by canonical equivalence, which for two strings of 2 MiB takes 100 ms and more; but no longer
    /// than the shorter of the two takes. So it is the text that is looked for that must be short.
    @inlinable
    @inline(always)
    static func isHarmless(_ key: Key) -> Bool {
        if isInteger || Key.self == Double.self || Key.self == ObjectIdentifier.self || Key.self == Duration.self
            || Key.self == Int128.self || Key.self == UInt128.self
        {
            return true
        }
        let longest = TextComparison.longest
        if Key.self == String.self { return unsafeBitCast(key, to: String.self).utf8.count <= longest }
        if Key.self == Substring.self { return unsafeBitCast(key, to: Substring.self).utf8.count <= longest }
        return false
    }

    /// How often a search is repeated because other keys of the same hash have appeared while keys were compared. A
    /// thread that sets and removes such keys all the time makes that happen while a slow `==` runs, and an `==` that
    /// itself stores keys of the same hash would do it for ever.
    ///
    /// Keys are compared outside a lock by ``KeyVerdicts``, in both caches, and in two places that know more:
    /// - `CacheEngine.valueComparing`: of one candidate, the value comes out with the key, so that a hit locks once.
    /// - `FlightTable`: the whole bucket is copied out, and searched until its stamp is the same afterwards.
    @usableFromInline static var comparisonRounds: Int { 1024 }

    /// Whether a stored key is equal to one that is harmless to compare.
    @inlinable
    @inline(always)
    static func isEqual(_ stored: Key, to key: Key) -> Bool {
        if isInteger { return bits(of: stored) == bits(of: key) }
        if Key.self == String.self {
            let (stored, key) = (unsafeBitCast(stored, to: String.self), unsafeBitCast(key, to: String.self))
            return TextComparison.isEqual(stored, to: key)
        }
        if Key.self == Substring.self,
            unsafeBitCast(stored, to: Substring.self).utf8.count > TextComparison.longestEqual
        {
            return false
        }
        return stored == key
    }

    /// Whether the key at an address and another are the same bits, which settles most comparisons of objects without
    /// foreign code: a key is equal to itself. `false` says nothing.
    @inlinable
    @inline(always)
    static func areIdentical(at left: UnsafeRawPointer, _ right: Key) -> Bool {
        // Compared in place: a key that is loaded is retained, which costs as much as the rest of a lookup.
        MemoryLayout<Key>.size == 8 && left.loadUnaligned(as: UInt64.self) == bits(of: right)
    }

    @inlinable
    @inline(always)
    static func hash(_ key: Key, seed: HashSeed) -> UInt64 {
        if isInteger { return seed.mix(bits(of: key)) }
        return expand(UInt32(truncatingIfNeeded: word(of: key, seed: seed)))
    }

    /// The word that stands for a key that is no integer: of a text it comes from its bytes, of all other keys from
    /// their `hashValue`.
    @inlinable
    @inline(always)
    static func word(of key: Key, seed: HashSeed) -> UInt64 {
        if Key.self == String.self { return seed.word(of: unsafeBitCast(key, to: String.self)) }
        if Key.self == Substring.self { return seed.word(of: unsafeBitCast(key, to: Substring.self)) }
        return seed.word(ofHashValue: key.hashValue)
    }

    /// The hash of a key that is no integer and has this `hashValue`.
    @inlinable
    @inline(always)
    static func hash(ofHashValue hashValue: Int, seed: HashSeed) -> UInt64 {
        expand(UInt32(truncatingIfNeeded: seed.word(ofHashValue: hashValue)))
    }

    /// The hash that was stored as `stored`.
    @inlinable
    @inline(always)
    static func expand(_ stored: UInt32) -> UInt64 {
        spread(UInt64(stored) | 0x5851_F42D_0000_0000) & ~0xFFFF_FFFF | UInt64(stored)
    }

    /// A hash whose bits all depend on all bits of `hash`.
    @inlinable
    @inline(always)
    static func spread(_ hash: UInt64) -> UInt64 { HashSeed.spread(hash) }

    @inlinable
    @inline(always)
    static func bits(of key: Key) -> UInt64 {
        switch MemoryLayout<Key>.size {
        case 8: unsafeBitCast(key, to: UInt64.self)
        case 4: UInt64(unsafeBitCast(key, to: UInt32.self))
        case 2: UInt64(unsafeBitCast(key, to: UInt16.self))
        default: UInt64(unsafeBitCast(key, to: UInt8.self))
        }
    }
}
