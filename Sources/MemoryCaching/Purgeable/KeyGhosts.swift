//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Ghosts of keys that left not long ago: 16-bit fingerprints in sets of eight, each set a queue.
///
/// A key that comes back while it is remembered was let go too early. One that never comes back costs two bytes for a
/// while: ``GhostTable`` takes four, because it also knows when they went and from which class. A wrong answer (one in
/// 8,000 for a full set) admits a value to the wrong queue and does no other harm.
///
/// - SeeAlso: Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023), for the ghost queue.
struct KeyGhosts {
    private var sets: [SIMD8<UInt16>]

    /// Remembers about `count` keys.
    init(count: Int) { sets = Array(repeating: .zero, count: max(8, count / 8)) }

    var capacity: Int { sets.count * 8 }

    private static func fingerprint(_ hash: IndexHash) -> UInt16 {
        // Between the bits that choose the shard and those that choose the set; never 0, which is an empty place.
        max(1, UInt16(truncatingIfNeeded: hash.word >> 24))
    }

    /// Remembers a key and forgets the oldest of its set.
    mutating func insert(_ hash: IndexHash) {
        let set = hash.place(capacity: sets.count)
        let old = sets[set]
        sets[set] = SIMD8(Self.fingerprint(hash), old[0], old[1], old[2], old[3], old[4], old[5], old[6])
    }

    /// Whether the key is remembered; if so it is no longer.
    mutating func take(_ hash: IndexHash) -> Bool {
        let set = hash.place(capacity: sets.count)
        let found = sets[set] .== SIMD8(repeating: Self.fingerprint(hash))
        guard any(found) else { return false }
        sets[set].replace(with: 0, where: found)
        return true
    }
}
