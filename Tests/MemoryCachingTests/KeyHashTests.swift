//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Hashes of keys that somebody has chosen who knows the code, but not the seed of a cache.
///
/// The bounds are those of random hashes, and all of them together are exceeded with a probability below 1e-9: for
/// numbers of equal hashes by Poisson's distribution, for chi-square by Laurent and Massart's bound (Annals of
/// Statistics 28, 2000, lemma 1).
@Suite struct KeyHashTests {
    /// Ten thousand texts, of a kind that would collide if a part of the mechanism were missing.
    enum Family: CaseIterable {
        case counted, prefixed, suffixed, oneOrTwoBits, zeroes, permutedBlocks, highBits
        /// The second word of the first block is 0, which is a known seed: the product is 0.
        case againstNoSeed, againstNoSeedLonger
        /// The first word is what is left of a multiplier that everybody knows (the golden ratio's) in ASCII text.
        case againstGoldenRatio

        func text(_ number: Int) -> String {
            func bytes(_ text: [UInt8]) -> String { String(decoding: text, as: UTF8.self) }
            let digits = String(number)
            let eight = String(repeating: "0", count: 8 - digits.count) + digits
            switch self {
            case .counted: return digits
            case .prefixed: return "https://example.com/a/common/prefix/\(number)"
            case .suffixed: return eight + ":a-common-suffix-of-forty-bytes-or-so-xx"
            case .oneOrTwoBits:
                var text = [UInt8](repeating: 0x61, count: 40)
                // Pairs i ≤ j of the 280 bits that are free in 40 bytes.
                var (first, rest) = (0, number)
                while rest >= 280 - first { (first, rest) = (first + 1, rest - (280 - first)) }
                for bit in Set([first, first + rest]) { text[bit / 7] ^= 1 << UInt8(bit % 7) }
                return bytes(text)
            case .zeroes: return String(repeating: "\0", count: number)
            case .permutedBlocks:
                let blocks = ["aaaaaaaa", "bbbbbbbb", "abababab", "\0\0\0\0\0\0\0\0"]
                return (0..<7).map { blocks[number >> (2 * $0) & 3] }.joined()
            case .highBits: return bytes((0..<7).map { UInt8(number >> (2 * $0) & 3) << 5 })
            case .againstNoSeed: return eight
            case .againstNoSeedLonger: return eight + String(repeating: "\0", count: 32)
            case .againstGoldenRatio:
                let word = 0x9E37_79B9_7F4A_7C15 & 0x7F7F_7F7F_7F7F_7F7F as UInt64
                return bytes((0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }) + eight
            }
        }

        var texts: [String] { (0..<10_000).map(text) }
    }

    /// Pairs of equal numbers.
    private func collisions(_ numbers: [UInt64]) -> Int {
        var counts: [UInt64: Int] = [:]
        var pairs = 0
        for number in numbers {
            pairs += counts[number, default: 0]
            counts[number, default: 0] += 1
        }
        return pairs
    }

    /// Whether numbers below 2^`bits` are spread as random ones are, but for a probability below 1e-11.
    private func areSpread(_ numbers: [UInt64], bits: Int) -> Bool {
        var counts = [Int](repeating: 0, count: 1 << bits)
        for number in numbers { counts[Int(number)] += 1 }
        let expected = Double(numbers.count) / Double(counts.count)
        let chiSquare = counts.reduce(0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
        let (freedom, exponent) = (Double(counts.count - 1), -log(1e-11))
        return chiSquare < freedom + 2 * (freedom * exponent).squareRoot() + 2 * exponent
    }

    @Test(arguments: Family.allCases)
    func chosenTextCollidesNoMoreThanRandom(family: Family) {
        let seed = HashSeed.random()
        let texts = family.texts
        #expect(Set(texts).count == 10_000)
        let words = texts.map { KeyHash.word(of: $0, seed: seed) }
        // 5e7 pairs: of 64 bits 3e-12 are expected to be equal.
        #expect(collisions(words) == 0, "\(seed)")
        let hashes = texts.map { KeyHash.hash($0, seed: seed) }
        // Of 32 bits 0.0116 pairs are expected; 5 or more have a probability of 1.8e-12.
        #expect(collisions(hashes.map { $0 & 0xFFFF_FFFF }) < 5, "\(seed)")
        // Of 20 bits 47.7 are; 110 or more have a probability below 2e-13.
        #expect(collisions(hashes.map { $0 >> 32 & 0xF_FFFF }) < 110, "\(seed)")
        // The shard, the tag, the low bits of the home; the place and the shard of a purgeable value.
        #expect(areSpread(hashes.map { $0 >> 57 }, bits: 7), "\(seed)")
        #expect(areSpread(hashes.map { $0 >> 28 & 0xFF }, bits: 8), "\(seed)")
        #expect(areSpread(hashes.map { $0 >> 32 & 0x3FF }, bits: 10), "\(seed)")
        let places = words.map { IndexHash($0, seed: seed).word }
        #expect(areSpread(places.map { $0 >> 54 }, bits: 10), "\(seed)")
        #expect(areSpread(places.map { $0 >> 16 & 0x1F }, bits: 5), "\(seed)")
    }

    /// What these texts are chosen against: without a secret seed they have one word.
    @Test(arguments: [Family.againstNoSeed, .againstNoSeedLonger])
    func withoutASecretSeedTheyWouldCollide(family: Family) {
        let known = HashSeed(word: 0)
        #expect(Set(family.texts.map { KeyHash.word(of: $0, seed: known) }).count == 1)
    }

    /// Texts that share five bits of their place in the table with a known seed are spread with another one.
    @Test func textChosenWithOneSeedIsSpreadWithAnother() {
        let (known, secret) = (HashSeed(word: 1), HashSeed.random())
        func place(_ text: String, _ seed: HashSeed) -> UInt64 { KeyHash.hash(text, seed: seed) >> 32 & 0x1F }
        let chosen = Array((0...).lazy.map { "chosen key \($0)" }.filter { place($0, known) == 0 }.prefix(10_000))
        #expect(!areSpread(chosen.map { place($0, known) }, bits: 5))
        #expect(areSpread(chosen.map { place($0, secret) }, bits: 5), "\(secret)")
        #expect(collisions(chosen.map { KeyHash.hash($0, seed: secret) }) < 5, "\(secret)")
    }

    /// Integers, as programs number things and as an attacker would choose them.
    enum Numbers: CaseIterable {
        case counted, multiples, highBits, pages, negative
        /// All sums of these bits lie side by side in one table, and in sixteen, where the key and a secret are combined by
        /// exclusive-or and multiplied with the golden ratio's constant. A search found them.
        case againstGoldenRatio, againstGoldenRatioLonger

        var keys: [UInt64] {
            switch self {
            case .counted: return (0..<10_000).map { $0 }
            case .multiples: return (0..<10_000).map { $0 * 1000 }
            case .highBits: return (0..<10_000).map { $0 << 48 }
            case .pages: return (0..<10_000).map { $0 << 12 }
            case .negative: return (0..<10_000).map { 0 &- $0 &* 48 }
            case .againstGoldenRatio:
                return Self.sums([
                    0x4000_0000_0000_0000, 0x0000_0018_8000_C000, 0x4_0000_0040, 0x4_0000, 0x10_0000_0000, 0x4000_4000,
                    0x8_0000_0000, 0x20_0000_0000, 0x10_0002_0000, 0x4000, 0x8000, 0x5_0000,
                ])
            case .againstGoldenRatioLonger:
                return Self.sums([
                    0x1_0000_0000, 0x2_0000_0000, 0x4_0000_0000, 0x10_0000_0000, 0x20_0000, 0x8_0000, 8, 0x10_0060,
                    0x8_0000_0020, 0x80, 0x10_0000, 0x10, 0x40,
                ])
            }
        }

        /// Exclusive ors of all choices among `bits`.
        static func sums(_ bits: [UInt64]) -> [UInt64] {
            bits.reduce([0]) { sums, word in sums + sums.map { $0 ^ word } }
        }
    }

    /// Entries that a lookup of one of `hashes` passes, in tables as an engine of so many shards has them.
    private func displacement(_ hashes: [UInt64], shards: UInt64) -> Double {
        var passed = 0
        for shard in Dictionary(grouping: hashes, by: { $0 >> 57 & (shards - 1) }).values {
            var size = 16
            while shard.count * 2 > size { size *= 2 }
            var taken = [Bool](repeating: false, count: size)
            for hash in shard {
                var place = Int(hash >> 32) & (size - 1)
                while taken[place] {
                    place = (place + 1) & (size - 1)
                    passed += 1
                }
                taken[place] = true
            }
        }
        return Double(passed) / Double(hashes.count)
    }

    @Test(arguments: Numbers.allCases)
    func chosenIntegersCollideNoMoreThanRandom(numbers: Numbers) {
        let seed = HashSeed.random()
        let keys = numbers.keys
        #expect(Set(keys).count == keys.count)
        // As they are in a table once keys have crowded in it, and in the ghost table.
        let hashes = keys.map { KeyHash<UInt64>.spread(KeyHash.hash($0, seed: seed)) }
        #expect(collisions(hashes) == 0, "\(seed)")
        #expect(collisions(hashes.map { $0 & 0xFFFF_FFFF }) < 5, "\(seed)")
        #expect(areSpread(hashes.map { $0 >> 57 }, bits: 7), "\(seed)")
        #expect(areSpread(hashes.map { $0 >> 28 & 0xFF }, bits: 8), "\(seed)")
        #expect(areSpread(hashes.map { $0 >> 32 & 0x3FF }, bits: 10), "\(seed)")
        // Random hashes pass 0.2 to 0.5 entries by how full a table is. With the public factor alone these passed 470 in
        // one shard and 60 to 100 in sixteen.
        #expect(displacement(hashes, shards: 1) < 1 && displacement(hashes, shards: 16) < 1, "\(seed)")
        let places = keys.map { IndexHash($0, seed: seed).word }
        #expect(areSpread(places.map { $0 >> 54 }, bits: 10), "\(seed)")
        #expect(areSpread(places.map { $0 >> 16 & 0x1F }, bits: 5), "\(seed)")
    }

    @Test func everyCacheHashesDifferently() {
        let (first, second) = (HashSeed.random(), HashSeed.random())
        #expect(first.word != second.word && first.multiplier != second.multiplier)
        for seed in [first, second] {
            // No eight bytes of ASCII make a factor 0.
            #expect(seed.multiplier >> 63 == 1)
        }
        func engines<Key: Hashable>(_ keys: [Key]) -> Int {
            let (first, second) = (CacheEngine<Key, Int>(), CacheEngine<Key, Int>())
            return keys.count { KeyHash.hash($0, seed: first.seed) == KeyHash.hash($0, seed: second.seed) }
        }
        // Of 32 bits one in 2^32: three or more of 100 keys have a probability of 2e-24.
        #expect(engines(Array(0..<100)) < 3)
        #expect(engines((0..<100).map { "key \($0)" }) < 3)
        #expect(engines((0..<100).map { "schlüssel \($0)" }) < 3)
        #expect(engines((0..<100).map { [$0] }) < 3)
        let (one, other) = (PurgeableCache<String>(), PurgeableCache<String>())
        let equal = (0..<100).map { "key \($0)" }.count {
            KeyHash.word(of: $0, seed: one.store.seed) == KeyHash.word(of: $0, seed: other.store.seed)
        }
        #expect(equal == 0)
    }
}
