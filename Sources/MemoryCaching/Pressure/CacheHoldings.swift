//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What each of several caches held at one moment. A pure value.
struct CacheHoldings: Sendable {
    /// Entries without a cost, or the sum of the costs, and about how many bytes of real memory are behind each.
    struct Holding: Sendable {
        var entries: Int
        var costs: Int
        var bytesPerEntry: Double
        var bytesPerCost: Double

        static let nothing = Holding(entries: 0, costs: 0, bytesPerEntry: 0, bytesPerCost: 0)

        /// Bytes that are held more than at `base`.
        ///
        /// Costs tell of values that became larger. Entries do not: what has gone was smaller by the estimate of then,
        /// or the estimate was wrong. By the lower of both more is taken to have come, and less for use by others.
        fileprivate func growth(since base: Holding) -> Double {
            Double(entries) * bytesPerEntry - Double(base.entries) * min(bytesPerEntry, base.bytesPerEntry)
                + (Double(costs) - Double(base.costs)) * bytesPerCost
        }
    }

    private var holdings: [ObjectIdentifier: Holding] = [:]

    /// What the cache of `identity` held.
    subscript(identity: ObjectIdentifier) -> Holding? {
        get { holdings[identity] }
        set { holdings[identity] = newValue }
    }

    /// Bytes that the caches hold more than at `base`; negative where they hold less.
    ///
    /// Costs that have come or gone since are multiplied by the present estimate of what is behind them: estimates change
    /// while caches are in use, and a tenth of all that a cache holds can be more than what is to be measured.
    func growth(since base: CacheHoldings) -> Int {
        var growth = 0.0
        for (identity, holding) in holdings { growth += holding.growth(since: base.holdings[identity] ?? .nothing) }
        for (identity, old) in base.holdings where holdings[identity] == nil {
            // What has gone, by the estimate of then.
            growth -= old.growth(since: .nothing)
        }
        return Int(min(max(growth, -0x1p60), 0x1p60))
    }
}
