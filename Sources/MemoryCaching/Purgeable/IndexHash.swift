//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The hash of a key, 48 bits of it: all that places an entry can be derived again from an item's tag in the log.
struct IndexHash: Equatable {
    /// The lower 16 bits are always zero.
    let word: UInt64

    /// Mixes a key's word (``KeyHash/word(of:seed:)``) with the cache's seed.
    ///
    /// Two folded multiplies, the first with a secret factor, as those of ``KeyHash``, but always both: tags are 48 bits
    /// of the product, and a lookup that copies waits for other things. The words of keys that are no
    /// integers are hashes already. (The constant is that of degski's 64-bit mixer.)
    @inline(__always)
    init(_ keyWord: UInt64, seed: HashSeed) {
        word = HashSeed.fold(seed.mix(keyWord), 0xD6E8_FEB8_6659_FD93) & ~0xFFFF
    }

    /// The hash whose 48 bits a tag carries.
    @inline(__always)
    init(hash48: UInt64) { word = hash48 << 16 }

    /// True of one hash in sixteen.
    @inline(__always)
    var isSixteenth: Bool { word >> 60 == 0 }

    @inline(__always)
    var hash48: UInt64 { word >> 16 }
    /// Bits 16 to 20 choose the shard, 21 to 28 are the tag in the table, the upper 32 the place in the table: no
    /// bit serves twice.
    @inline(__always)
    func shard(mask: Int) -> Int { Int(truncatingIfNeeded: word >> 16) & mask }
    @inline(__always)
    var tag: UInt32 { UInt32(truncatingIfNeeded: word >> 21) & 0xFF }
    @inline(__always)
    func place(capacity: Int) -> Int { Int(truncatingIfNeeded: ((word >> 32) &* UInt64(capacity)) >> 32) }
}
