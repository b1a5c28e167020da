//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a policy made of a trace.
public struct SimulationResult: Sendable, Equatable {
    /// The policy.
    public let policy: SimulatedPolicy
    /// The cache's size: bytes for a sized trace, entries otherwise.
    public let capacity: Int
    /// How many requests there were.
    public private(set) var requests = 0
    /// How many of them hit.
    public private(set) var hits = 0
    /// Bytes asked for.
    public private(set) var bytes = 0
    /// Bytes asked for and found.
    public private(set) var bytesHit = 0
    /// What all requests would cost without a cache.
    public private(set) var cost = 0.0
    /// What the misses cost.
    public private(set) var missCost = 0.0

    /// How many entries there were at the end; `nil` for a policy that does not count them.
    public internal(set) var entries: Int?
    /// What they held at the end: bytes for a sized trace, entries otherwise.
    public internal(set) var used = 0

    /// A result of no requests yet.
    init(policy: SimulatedPolicy, capacity: Int) {
        self.policy = policy
        self.capacity = capacity
    }

    mutating func count(isHit: Bool, bytes size: Int, cost price: Double) {
        requests += 1
        bytes += size
        cost += price
        if isHit {
            hits += 1
            bytesHit += size
        } else {
            missCost += price
        }
    }

    /// Misses.
    public var misses: Int { requests - hits }
    /// Hits by requests; 0 without requests.
    public var hitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
    /// Misses by requests; 0 without requests.
    public var missRatio: Double { requests == 0 ? 0 : Double(misses) / Double(requests) }
    /// Bytes found by bytes asked for.
    public var byteHitRatio: Double { bytes == 0 ? 0 : Double(bytesHit) / Double(bytes) }
    /// What the misses cost, of what all requests would cost without a cache.
    public var costMissRatio: Double { cost == 0 ? 0 : missCost / cost }
}
