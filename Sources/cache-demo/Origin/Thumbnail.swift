//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Glibc

/// A thumbnail at the origin. Its size and its bytes follow from its key, so that the origin keeps nothing, and that
/// whoever holds the key can compare every byte.
struct Thumbnail: Hashable, Sendable {
    /// How many different ones are asked for.
    static let catalogue = 20_000
    /// Words of eight bytes that they have, evenly distributed: 2 to 200 KB.
    static let wordCounts = 250...25_000

    let key: UInt64

    init(key: UInt64) { self.key = key }

    /// Those that a run asks for, in order: the n-th most popular with weight 1/n^0.9. The same for the same seed.
    static func requests(seed: UInt64) -> TraceGenerator {
        TraceGenerator(.zipf(exponent: 0.9), keys: catalogue, seed: seed)
    }

    /// Its path on the origin.
    var path: String { "/thumbnails/\(key)" }

    /// The thumbnail that `path` names, nil where none has that path.
    init?(path: String) {
        guard path.hasPrefix("/thumbnails/"), let key = UInt64(path.dropFirst("/thumbnails/".count)) else { return nil }
        self.key = key
    }

    var wordCount: Int {
        Self.wordCounts.lowerBound + Int(SeededGenerator.splitMix(key) % UInt64(Self.wordCounts.count))
    }

    /// Its bytes: pseudo-random words (Marsaglia's xorshift, which never yields 0), so that a page that the kernel has
    /// emptied can never look right.
    var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: wordCount * 8) { buffer, count in
            count = wordCount * 8
            var word = SeededGenerator.splitMix(key) | 1
            for index in 0..<wordCount {
                word ^= word << 13
                word ^= word >> 7
                word ^= word << 17
                UnsafeMutableRawBufferPointer(buffer).storeBytes(of: word, toByteOffset: index * 8, as: UInt64.self)
            }
        }
    }

    /// Whether `bytes` are its own, every one of them.
    func isRight(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let own = self.bytes
        return bytes.count == own.count && memcmp(bytes.baseAddress!, own, own.count) == 0
    }
}
