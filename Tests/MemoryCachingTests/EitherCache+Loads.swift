//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import _CacheTestSupport

@testable import MemoryCaching

extension EitherCache {
    /// How many callers have joined the load of `key` and still want its result.
    func waiterCount(forKey key: Key) -> Int {
        switch kind {
        case .memory(let cache): cache.loading.waiterCount(forKey: key)
        case .purgeable(let cache): cache.loading.waiterCount(forKey: key)
        }
    }

    /// Loads under way, those among them that nobody waits for any more.
    var flightCount: Int {
        switch kind {
        case .memory(let cache): cache.loading.flights.count.load(ordering: .relaxed)
        case .purgeable(let cache): cache.loading.flights.count.load(ordering: .relaxed)
        }
    }
}
