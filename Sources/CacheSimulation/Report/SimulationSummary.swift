//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Several traces in one table: how many misses each policy saves against FIFO on the mean, and how much worse than LRU
/// it ever is.
public struct SimulationSummary: Sendable {
    private let reports: [SimulationReport]
    private let policies: [SimulatedPolicy]
    private let sizes: [CacheSize]

    /// A summary of reports with the same sizes; nil where there is nothing to sum up: fewer than two reports, other
    /// sizes, or no FIFO to compare with.
    public init?(_ reports: [SimulationReport]) {
        guard reports.count > 1, let first = reports.first, reports.allSatisfy({ $0.sizes == first.sizes }) else {
            return nil
        }
        self.reports = reports
        sizes = first.sizes
        policies = SimulatedPolicy.allCases.filter { policy in reports.allSatisfy { $0.policies.contains(policy) } }
        guard policies.contains(.fifo) else { return nil }
    }

    /// Misses saved against FIFO in percent, the mean over the traces, by size.
    public func meanReduction(_ policy: SimulatedPolicy) -> [Double] {
        sizes.indices.map { index in
            let reductions = reports.compactMap { 1 - (ratio($0, index, policy, .fifo) ?? 1) }
            return 100 * reductions.reduce(0, +) / Double(reports.count)
        }
    }

    /// The most misses by those of LRU, over traces and sizes; nil without LRU.
    public func worstAgainstLRU(_ policy: SimulatedPolicy) -> Double? {
        reports.flatMap { report in sizes.indices.compactMap { ratio(report, $0, policy, .lru) } }.max()
    }

    /// The table, with a heading.
    public var text: String {
        var table = TextTable(["policy"] + sizes.map(\.description) + ["worst / LRU"])
        for policy in policies {
            table.append(
                [policy.rawValue] + meanReduction(policy).map { Quantity.fixed($0, decimals: 1) }
                    + [worstAgainstLRU(policy).map { Quantity.fixed($0, decimals: 3) } ?? "–"]
            )
        }
        return "misses saved against FIFO, %, mean of \(reports.count) traces\n\(table.text)"
    }

    /// Misses of one policy by those of another; 1 where neither misses.
    private func ratio(
        _ report: SimulationReport,
        _ index: Int,
        _ policy: SimulatedPolicy,
        _ other: SimulatedPolicy
    ) -> Double? {
        guard let mine = report.result(policy, capacity: report.capacities[index])?.misses,
            let theirs = report.result(other, capacity: report.capacities[index])?.misses
        else { return nil }
        return mine == theirs ? 1 : Double(mine) / Double(theirs)
    }
}
