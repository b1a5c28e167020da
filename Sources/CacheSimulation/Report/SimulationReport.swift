//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

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
    /// From a 1,024th of all that the trace asks for up to all of it: where the knee is looked for.
    let curve: [Int]
    /// How long a key is as text, on the mean.
    let keyLength: Double
    /// What came out; for the policy that gives the advice also for half and twice each size, and for a whole curve.
    public let results: [SimulationResult]

    init(
        trace: IndexedTrace,
        policies: [SimulatedPolicy],
        sizes: [CacheSize],
        capacities: [Int],
        curve: [Int],
        results: [SimulationResult]
    ) {
        self.curve = curve
        keyLength = trace.keyLength
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

    /// The limit from which on more memory buys markedly less; `nil` where the curve has no such place, and for a trace
    /// of fewer than 625 requests.
    ///
    /// It is looked for between all that the trace asks for and a 1,024th of it, in the results of
    /// ``SimulatedPolicy/memoryCache`` or of the first policy that does not know the future.
    public func knee(_ metric: Metric = .misses) -> Int? {
        requests < Knee.leastRequests ? nil : Knee.index(of: points(metric), at: curve).map { curve[$0] }
    }

    /// The curve's values, as long as it is; empty without a policy to ask.
    func points(_ metric: Metric) -> [Double] {
        guard let policy = Self.adviser(of: policies) else { return [] }
        return curve.compactMap { capacity in
            // A curve that falls, whatever is counted.
            result(policy, capacity: capacity).map { metric == .hits ? 1 - metric.value(of: $0) : metric.value(of: $0) }
        }
    }

    /// How much memory a `MemoryCache` takes for what it held of `result`, with the entries' overhead; the values alone
    /// are missing where the trace has no sizes. `nil` where entries were not counted.
    public func memory(of result: SimulationResult) -> Int? {
        result.entries.map { entries in
            (isSized ? result.used : 0) + MemoryEstimate.overhead(entries: entries, keyLength: keyLength)
        }
    }

    /// A capacity with its unit.
    func capacityText(_ capacity: Int) -> String {
        isSized ? Quantity.bytes(capacity) : "\(capacity.grouped) entries"
    }
}
