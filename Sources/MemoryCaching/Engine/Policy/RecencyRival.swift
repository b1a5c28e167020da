//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Uses of sampled keys that a shard has seen since it last told the learner.
///
/// One key in 16 is sampled, by its hash, which takes up to 2.1 bytes an entry in the shadow. More would help little:
/// where 1,500 keys are replaced each 20,000 requests, 2,000 entries miss 1.25 times as often as LRU with one key in 16
/// or in 8, 1.24 times with one in 4, and 1.23 times with one in 2 or each. After other changes the misses fall by at
/// most .01 of LRU's. Entries take part that have no content to discard.
@usableFromInline
struct SampledUses {
    @usableFromInline enum Kind: UInt32 { case touch, insertion, removal }

    /// Fingerprints above, kinds in the lowest two bits; those before ``count`` are in use.
    @usableFromInline var words = SIMD8<UInt32>()
    @usableFromInline var count: Int32 = 0
    /// By how much the number of sampled entries in the shard has grown. Said when the uses are handed in.
    @usableFromInline var growth: Int32 = 0
    /// Shares of a turnover, by class, that sampled entries had spent unused when they expired or were removed.
    @usableFromInline var waste = SIMD4<Float>()
    /// The lifetimes of the uses, see ``SampledLifetime``.
    @usableFromInline var starts = SIMD8<UInt32>()
    @usableFromInline var ends = SIMD8<UInt32>()

    @inlinable
    init() {}

    /// One key in so many is in the sample: a power of two.
    @inlinable
    @inline(__always)
    static var stride: UInt64 { 16 }

    /// Whether the key of `hash` is in the sample.
    @inlinable
    @inline(always)
    static func includes(_ hash: UInt64) -> Bool { HashSeed.spread(hash) & (SampledUses.stride &- 1) == 0 }

    /// Bits 4 to 33 of the spread hash.
    @inlinable
    @inline(always)
    static func fingerprint(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: HashSeed.spread(hash) &>> 4) & 0x3FFF_FFFF
    }

    @inlinable
    mutating func removeAll() { (count, growth, waste) = (0, 0, SIMD4()) }

    /// No further use fits in.
    @inlinable
    var isFull: Bool { count == 8 }

    @inlinable
    mutating func append(_ kind: Kind, _ hash: UInt64, _ lifetime: SampledLifetime = .endless) {
        words[Int(count)] = SampledUses.fingerprint(hash) &<< 2 | kind.rawValue
        starts[Int(count)] = lifetime.start
        ends[Int(count)] = lifetime.end
        count &+= 1
    }

    /// Whether a key of the sample is looked at where one in 2^`thinning` is. That follows from bits of its fingerprint
    /// which no bucket of the shadow depends on.
    @inlinable
    @inline(always)
    static func includes(_ fingerprint: UInt32, thinning: UInt32) -> Bool {
        fingerprint &>> 16 & (1 &<< thinning &- 1) == 0
    }

    /// The same by the hash of the key.
    @inlinable
    @inline(always)
    static func includes(_ hash: UInt64, thinning: UInt32) -> Bool {
        includes(fingerprint(hash), thinning: thinning)
    }
}

/// When an entry of the sample was set and when it expires, in units of 2²⁰ nanoseconds, about a millisecond.
@usableFromInline
struct SampledLifetime: Sendable {
    /// 0 where nobody knows.
    @usableFromInline let start: UInt32
    /// 0 where it never expires, 1 where it does and nobody knows when.
    @usableFromInline let end: UInt32

    @inlinable
    init(start: UInt32, end: UInt32) { (self.start, self.end) = (start, end) }

    /// The lifetime of an entry that is set `now`, both in nanoseconds; `now` is the smallest number where no entry of
    /// the cache expires. A lifetime of more than 26 days has no end here, because the units begin again after 52.
    @inlinable
    init(now: Int64, deadline: Int64) {
        start = now == .min ? 0 : max(1, UInt32(truncatingIfNeeded: now &>> 20))
        let isEndless = deadline == .max || (deadline &>> 20) - (now &>> 20) > Int64(Int32.max)
        end = isEndless ? 0 : max(2, UInt32(truncatingIfNeeded: deadline &>> 20))
    }

    @inlinable static var endless: SampledLifetime { SampledLifetime(start: 0, end: 0) }
    @inlinable static var unknown: SampledLifetime { SampledLifetime(start: 0, end: 1) }

    /// Whether a value that expires at `end` has expired when this one is set, as far as is known.
    func isAfter(_ end: UInt32) -> Bool {
        start != 0 && end != 0 && (end == 1 || Int32(bitPattern: start &- end) >= 0)
    }
}

/// Says when the learner should correct itself faster: while a cache that evicts the least recently used misses less.
///
/// The weights rest on what ghosts have proved. When the requests change abruptly, the weights are wrong until the
/// learner has corrected them, some 2 % at a time. Recency needs no learning. So the rival is a shadow of the keys that
/// LRU would hold, for a sample of keys, in as many places as the cache now gives to sampled keys. A request that hits
/// in the shadow and misses in the cache counts for LRU, one the other way round against it. The counts fade by a tenth
/// with each correction of the weights, so they cover about ten eighths of a turnover.
///
/// LRU is ahead while the difference exceeds 12 requests, 5 % of the sample's misses and twice the square root of the
/// requests that one of both hit, and has grown since the last correction. The square root is the standard deviation of
/// their difference where neither is better (a sign test). Without that condition LRU is found ahead at times where
/// each of both hits half of what the other misses; with three times the square root, some changes are noticed late (a
/// window of 2,000 keys, a new one each 10: 1.13 of LRU's misses at most instead of 1.11). At 16 requests a change of
/// all keys is noticed later (simulated misses at 2,000 entries: 1.042 of LRU's instead of 1.035). Without the last
/// condition, one burst that LRU happens to keep counts long after it (s_arc_p3 with each request counted as 1, 5,668
/// entries: .005 more misses instead of .003).
///
/// Both sides are judged by the same requests and the same number of places, from the first insertion on. So requests
/// that do not change speak against LRU, whichever keys are in the sample: in 200 runs of 400,000 requests by Zipf's
/// law for each of eight settings (exponents .7 and 1, 500 to 20,000 entries) LRU was never ahead. Of the hits in the
/// cache, only the first in each stay is seen, because a hit must not do more; the others count for neither side.
///
/// A key that only the shadow holds, and whose lifetime is over meanwhile, is no hit of LRU's. So the shadow knows when
/// its keys expire. What it does not see, that a use or another value puts off the end of a lifetime, speaks against
/// LRU only: it hits less than it would.
///
/// A pure value: uses in, a verdict out.
struct RecencyRival: Sendable {
    /// Whether LRU does better now.
    private(set) var isAhead = false

    private(set) var shadow = RecencyShadow()
    /// Sampled entries that the cache holds.
    private(set) var held = 0
    /// In a large cache only one in 2^`thinning` sampled keys is looked at.
    private(set) var thinning: UInt32 = 0
    /// Requests that only the shadow hit, less those that only the cache hit.
    private var advantage = 0.0
    private var previousAdvantage = 0.0
    /// The cache's own misses.
    private var misses = 0.0
    /// Requests that one of both hit.
    private var differences = 0.0

    /// Keys in the shadow at most. With 16,384, getting or setting among 100,000 entries takes 4 % longer, and changes
    /// of the requests cost as much (50,000 entries, five kinds of requests: within .015 of LRU's misses).
    static let mostKeys = 2048

    /// Takes note of what a shard has seen.
    mutating func absorb(_ uses: SampledUses) {
        held += Int(uses.growth)
        while held >> thinning > Self.mostKeys { thin() }
        // What the cache holds of the keys that are looked at from now on is not in the shadow, and its next use counts
        // against LRU. That has faded after some turnovers.
        while thinning > 0, held >> thinning < Self.mostKeys / 4 { thinning -= 1 }
        for index in 0..<Int(uses.count) {
            let fingerprint = uses.words[index] >> 2
            let lifetime = SampledLifetime(start: uses.starts[index], end: uses.ends[index])
            // The shards leave out most of the others themselves, by a copy of the thinning.
            guard SampledUses.includes(fingerprint, thinning: thinning) else { continue }
            switch SampledUses.Kind(rawValue: uses.words[index] & 3) {
            case .touch:
                if !shadow.use(fingerprint, lifetime) { count(-1) }
            case .insertion:
                misses += 1
                if shadow.use(fingerprint, lifetime) { count(1) }
            default: shadow.remove(fingerprint)
            }
            shadow.trim(to: held >> thinning)
        }
        shadow.trim(to: held >> thinning)
    }

    /// Gives the verdict for the next correction of the weights, and lets the counts fade.
    mutating func judge() {
        let chance = 2 * differences.squareRoot()
        isAhead = advantage > max(12, 0.05 * misses, chance) && advantage > previousAdvantage
        advantage *= 0.9
        misses *= 0.9
        differences *= 0.9
        previousAdvantage = advantage
    }

    private mutating func count(_ difference: Double) {
        advantage += difference
        differences += 1
    }

    private mutating func thin() {
        thinning += 1
        shadow.removeAll { [thinning] in !SampledUses.includes($0, thinning: thinning) }
    }
}
