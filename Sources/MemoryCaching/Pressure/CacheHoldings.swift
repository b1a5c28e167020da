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

        /// Bytes that `entries` and `costs` of this cache take.
        fileprivate func bytes(entries: Double, costs: Double) -> Double {
            entries * bytesPerEntry + costs * bytesPerCost
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
    /// Only what has come or gone since is multiplied by an estimate, by the present one: estimates change while caches
    /// are in use, and a tenth of all that a cache holds can be more than what is to be measured.
    func growth(since base: CacheHoldings) -> Int {
        var growth = 0.0
        for (identity, holding) in holdings {
            let old = base.holdings[identity]
            growth += holding.bytes(
                entries: Double(holding.entries) - Double(old?.entries ?? 0),
                costs: Double(holding.costs) - Double(old?.costs ?? 0)
            )
        }
        for (identity, old) in base.holdings where holdings[identity] == nil {
            growth -= old.bytes(entries: Double(old.entries), costs: Double(old.costs))
        }
        return Int(min(max(growth, -0x1p60), 0x1p60))
    }
}
