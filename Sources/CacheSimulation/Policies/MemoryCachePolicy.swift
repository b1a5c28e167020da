//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// The product itself, through the door that everybody uses: a `MemoryCache` with a `countLimit` for traces without
/// sizes, a `totalCostLimit` and costs in bytes for those with, and recompute costs where there is a cost model.
struct MemoryCachePolicy: CachePolicy {
    private let setting: PolicySetting
    private let cache: MemoryCache<UInt64, UInt32>

    init(_ setting: PolicySetting) {
        self.setting = setting
        cache = MemoryCache(
            name: "simulation",
            countLimit: setting.trace.isSized ? 0 : setting.capacity,
            totalCostLimit: setting.trace.isSized ? setting.capacity : 0
        )
    }

    var used: Int { setting.trace.isSized ? cache.totalCost : cache.count }

    var entries: Int? { cache.count }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        let name = setting.trace.keys[key]
        if cache.value(forKey: name) != nil { return true }
        cache.setValue(
            UInt32(truncatingIfNeeded: key),
            forKey: name,
            cost: setting.trace.isSized ? setting.sizes[key] : 0,
            recomputeCost: setting.weighsCosts ? setting.costs[key] : nil
        )
        return false
    }
}
