//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A policy that can be simulated.
public enum SimulatedPolicy: String, Sendable, CaseIterable {
    /// The product's own engine, through `MemoryCache`'s public interface.
    case memoryCache = "MemoryCache"
    /// First in, first out.
    case fifo = "FIFO"
    /// Least recently used goes first.
    case lru = "LRU"
    /// Adaptive Replacement Cache (FAST '03).
    case arc = "ARC"
    /// SIEVE (NSDI '24).
    case sieve = "SIEVE"
    /// S3-FIFO (SOSP '23).
    case s3FIFO = "S3-FIFO"
    /// W-TinyLFU with an adaptive window, as in Caffeine.
    case wTinyLFU = "W-TinyLFU"
    /// GreedyDual-Size-Frequency; with a cost model it still sees sizes alone.
    case gdsf = "GDSF"
    /// GreedyDual-Size-Frequency that weighs costs.
    case gdsfCost = "GDSF-C"
    /// The order of swift-corelibs-foundation's `NSCache`.
    case foundationNSCache = "Foundation.NSCache"
    /// Offline: the key that is needed last goes first.
    case belady = "Belady"
    /// Offline: the largest (time until the next use) × size goes first.
    case belSize = "BelSize"

    /// Whether the policy looks into the future: a bound, not a cache.
    public var isOffline: Bool { self == .belady || self == .belSize }

    /// The policies that say something about a trace: one bound instead of two, costs only where there are some.
    public static func all(sized: Bool, costs: Bool) -> [SimulatedPolicy] {
        allCases.filter { policy in
            switch policy {
            case .belady: !sized
            case .belSize: sized
            case .gdsfCost: costs
            default: true
            }
        }
    }
}
