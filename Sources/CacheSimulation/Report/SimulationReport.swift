//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a plan made of a trace: every result, and how to say it.
public struct SimulationReport: Sendable {
    /// What is counted.
    public enum Metric: String, Sendable, CaseIterable {
        /// Requests that missed, of all requests.
        case misses
        /// Requests that hit, of all requests.
        case hits
        /// Bytes that missed, of all bytes asked for.
        case bytes
        /// The cost of the misses, of the cost of all requests.
        case cost

        /// The share of `result`, 0 to 1.
        public func value(of result: SimulationResult) -> Double {
            switch self {
            case .misses: result.missRatio
            case .hits: result.hitRatio
            case .bytes: 1 - result.byteHitRatio
            case .cost: result.costMissRatio
            }
        }

        /// As a heading.
        public var title: String {
            switch self {
            case .misses: "misses, % of requests"
            case .hits: "hits, % of requests"
            case .bytes: "bytes missed, % of bytes"
            case .cost: "cost of misses, % of all cost"
            }
        }
    }

    /// The trace's name.
    public let trace: String
    /// How many requests it has.
    public let requests: Int
    /// How many keys it has.
    public let keys: Int
    /// What a cache that holds everything holds: bytes for a sized trace, keys otherwise.
    public let footprint: Int
    /// Whether capacities are in bytes.
    public let isSized: Bool
    /// The policies, in the order of the plan.
    public let policies: [SimulatedPolicy]
    /// The sizes as they were asked for.
    public let sizes: [CacheSize]
    /// The capacity of each size.
    public let capacities: [Int]
    /// What came out, also for half and twice each size for the policy that gives the advice.
    public let results: [SimulationResult]

    init(
        trace: IndexedTrace,
        policies: [SimulatedPolicy],
        sizes: [CacheSize],
        capacities: [Int],
        results: [SimulationResult]
    ) {
        self.trace = trace.name
        requests = trace.requests.count
        keys = trace.keys.count
        footprint = trace.footprint
        isSized = trace.isSized
        self.policies = policies
        self.sizes = sizes
        self.capacities = capacities
        self.results = results
    }

    /// The result of `policy` at `capacity`.
    public func result(_ policy: SimulatedPolicy, capacity: Int) -> SimulationResult? {
        results.first { $0.policy == policy && $0.capacity == capacity }
    }

    /// The policy whose results the advice is about: the product's own, else the first that is a cache.
    static func adviser(of policies: [SimulatedPolicy]) -> SimulatedPolicy? {
        policies.contains(.memoryCache) ? .memoryCache : policies.first { !$0.isOffline }
    }

    /// A capacity with its unit.
    func capacityText(_ capacity: Int) -> String {
        isSized ? Quantity.bytes(capacity) : "\(Quantity.grouped(capacity)) entries"
    }
}
