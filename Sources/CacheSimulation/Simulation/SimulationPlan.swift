//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Policies, sizes and a cost model to run over a trace.
public struct SimulationPlan: Sendable {
    /// The policies; nil is ``SimulatedPolicy/all(sized:costs:)``.
    public var policies: [SimulatedPolicy]?
    /// How large the caches are.
    public var sizes: [CacheSize]
    /// What misses cost.
    public var costs: CostModel

    /// A plan; by default every policy that says something, at 0.1 %, 1 % and 10 % of what the trace asks for.
    public init(
        policies: [SimulatedPolicy]? = nil,
        sizes: [CacheSize] = [.share(0.001), .share(0.01), .share(0.1)],
        costs: CostModel = .none
    ) {
        self.policies = policies
        self.sizes = sizes
        self.costs = costs
    }

    /// Why a plan cannot be run over a trace.
    public enum PlanError: Error, Sendable, Equatable, CustomStringConvertible {
        /// A size in bytes for a trace that does not say how large its values are.
        case bytesWithoutSizes(size: CacheSize, trace: String)
        /// The trace's own costs are to be used and it has none.
        case noCosts(trace: String)

        /// In one line, with what to do.
        public var description: String {
            switch self {
            case .bytesWithoutSizes(let size, let trace):
                "\(size) of \(trace), which does not say how large its values are: give a share (1%) or a count"
            case .noCosts(let trace):
                "\(trace) does not say what its values cost: use --cost A, B or none, or a CSV of key,size,cost"
            }
        }
    }

    /// Runs the plan over `trace`, several simulations at a time.
    ///
    /// - Parameters:
    ///   - trace: The requests.
    ///   - jobs: How many simulations run at a time.
    ///   - progress: Told from 0 to 1 how much is done; called from any thread.
    /// - Throws: ``PlanError`` if a size or the cost model does not go with the trace.
    public func run(
        over trace: Trace,
        jobs: Int = 1,
        progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws(PlanError) -> SimulationReport {
        if costs == .trace, !trace.hasCosts { throw .noCosts(trace: trace.name) }
        let policies = policies ?? SimulatedPolicy.all(sized: trace.isSized, costs: costs != .none)
        let indexed = IndexedTrace(trace, costs: costs)
        var capacities: [Int] = []
        for size in sizes {
            guard let capacity = size.capacity(for: indexed) else {
                throw .bytesWithoutSizes(size: size, trace: trace.name)
            }
            capacities.append(capacity)
        }
        // What twice and half of each size would do is asked of one policy alone: the one that gives the advice.
        let adviser = SimulationReport.adviser(of: policies)
        let curve = Knee.sizes(upTo: indexed.footprint)
        let around = Set(capacities.flatMap { [$0 / 2, $0 * 2] } + curve).subtracting(capacities)
            .filter { $0 >= 1 && $0 <= 2 * indexed.footprint }
        let runs =
            capacities.flatMap { capacity in policies.map { ($0, capacity) } }
            + (adviser.map { adviser in around.sorted().map { (adviser, $0) } } ?? [])
        let done = ProgressCount(total: indexed.requests.count * runs.count, report: progress)
        let results = await Self.run(runs, over: indexed, jobs: max(1, jobs), done: done)
        return SimulationReport(
            trace: indexed,
            policies: policies,
            sizes: sizes,
            capacities: capacities,
            curve: curve,
            results: results
        )
    }

    private static func run(
        _ runs: [(SimulatedPolicy, Int)],
        over trace: IndexedTrace,
        jobs: Int,
        done: ProgressCount
    ) async -> [SimulationResult] {
        await withTaskGroup(of: (Int, SimulationResult).self) { group in
            var results = [SimulationResult?](repeating: nil, count: runs.count)
            var waiting = runs.enumerated().makeIterator()
            func start(_ group: inout TaskGroup<(Int, SimulationResult)>) {
                guard let (index, (policy, capacity)) = waiting.next() else { return }
                group.addTask {
                    (index, Simulation.run(policy, over: trace, capacity: capacity) { done.add($0) })
                }
            }
            for _ in 0..<jobs { start(&group) }
            while let (index, result) = await group.next() {
                results[index] = result
                start(&group)
            }
            return results.compactMap(\.self)
        }
    }
}
