//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An endless stream of requests that repeats from a seed: traces to test and to demonstrate with.
///
/// ```swift
/// let requests = TraceGenerator(.zipf(exponent: 0.99), keys: 1_000_000, seed: 42).prefix(5_000_000)
/// let trace = Trace(name: "zipf", requests)
/// ```
public struct TraceGenerator: Sequence, IteratorProtocol, Sendable {
    /// What happens in the stream.
    public enum Pattern: Sendable, Equatable {
        /// The same popularity throughout: rank *r* has probability ∝ 1 / *r*^exponent.
        case zipf(exponent: Double)
        /// Popularity moves: every `period` requests one key leaves and a new one takes its rank.
        case drift(exponent: Double, period: Int)
        /// Every `period` requests all keys are new at once.
        case shocks(exponent: Double, period: Int)
        /// Every `period` requests, `length` keys that never came before are read once each, in a row.
        case scans(exponent: Double, period: Int, length: Int)
        /// A share of the requests, 0 to 1, is for keys that never come again.
        case oneHitWonders(exponent: Double, share: Double)
        /// Every `period` requests a key that never came before is asked for `length` times within a short while.
        case bursts(exponent: Double, period: Int, length: Int)
        /// All keys in turn, for ever: what recency cannot learn.
        case loop
    }

    /// What sizes the values have; a key keeps its size.
    public enum Sizes: Sendable, Equatable {
        /// All 1.
        case unit
        /// From `smallest` to `largest` bytes, evenly in the logarithm.
        case spread(smallest: Int, largest: Int)
    }

    /// What happens in the stream.
    public let pattern: Pattern
    /// How many keys are popular at a time.
    public let keys: Int
    /// What sizes the values have.
    public let sizes: Sizes

    private let distribution: ZipfDistribution
    private var random: SeededGenerator
    private let salt: UInt64
    private var position = 0
    /// Keys that were new so far; they are numbered after the popular ones.
    private var fresh: UInt64 = 0
    /// Ranks that were given to new keys by drift.
    private var moved: [Int: UInt64] = [:]
    private var generation: UInt64 = 0
    private var remaining = 0
    private var burst: UInt64 = 0

    /// A stream of requests for `keys` ≥ 1 popular keys.
    public init(_ pattern: Pattern, keys: Int, sizes: Sizes = .unit, seed: UInt64) {
        self.pattern = pattern
        self.keys = Swift.max(1, keys)
        self.sizes = sizes
        random = SeededGenerator(seed: seed)
        salt = SeededGenerator.splitMix(seed)
        let exponent =
            switch pattern {
            case .zipf(let exponent), .drift(let exponent, _), .shocks(let exponent, _), .scans(let exponent, _, _),
                .oneHitWonders(let exponent, _), .bursts(let exponent, _, _):
                exponent
            case .loop: 0.0
            }
        distribution = ZipfDistribution(count: self.keys, exponent: exponent)
    }

    /// The next request; never nil.
    public mutating func next() -> TraceRequest? {
        defer { position += 1 }
        let key = SeededGenerator.mix(nextNumber() ^ salt)
        return TraceRequest(key: key, size: size(of: key))
    }

    private mutating func nextNumber() -> UInt64 {
        switch pattern {
        case .zipf: break
        case .drift(_, let period):
            if isDue(period) { moved[random.rank(below: keys)] = nextFresh() }
            let rank = distribution.rank(using: &random)
            return moved[rank] ?? UInt64(rank)
        case .shocks(_, let period):
            if isDue(period) { generation += 1 }
            return generation << 40 | UInt64(distribution.rank(using: &random))
        case .scans(_, let period, let length):
            if isDue(period) { remaining = length }
            if remaining > 0 {
                remaining -= 1
                return nextFresh()
            }
        case .oneHitWonders(_, let share):
            if random.fraction() < share { return nextFresh() }
        case .bursts(_, let period, let length):
            if isDue(period) {
                remaining = length
                burst = nextFresh()
            }
            // Every other request, so that a burst is not one run of hits.
            if remaining > 0, position & 1 == 0 {
                remaining -= 1
                return burst
            }
        case .loop:
            return UInt64(position % keys)
        }
        return UInt64(distribution.rank(using: &random))
    }

    private func isDue(_ period: Int) -> Bool { position > 0 && position % Swift.max(1, period) == 0 }

    private mutating func nextFresh() -> UInt64 {
        fresh += 1
        return 1 << 62 | fresh
    }

    private func size(of key: UInt64) -> Int {
        guard case .spread(let smallest, let largest) = sizes else { return 1 }
        let fraction = Double(SeededGenerator.splitMix(key) >> 11) * 0x1p-53
        let low = Double(Swift.max(1, smallest)), high = Double(Swift.max(1, smallest, largest))
        return Int(low * pow(high / low, fraction))
    }
}

extension SeededGenerator {
    /// A rank from 1 to `count`, all alike.
    fileprivate mutating func rank(below count: Int) -> Int { Int.random(in: 1...count, using: &self) }
}
