//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// The product.
struct MemoryCacheSubject<Keys: KeyFactory>: BenchmarkedCache where Keys.Key: Sendable {
    private let cache: MemoryCache<Keys.Key, UInt64>

    init(limit: Int) { cache = MemoryCache(countLimit: limit) }
    static func value(_ number: UInt64) -> UInt64 { number }
    @inline(__always) func get(_ key: Keys.Key) -> UInt64? { cache.value(forKey: key) }
    @inline(__always) func set(_ value: UInt64, _ key: Keys.Key) { cache.setValue(value, forKey: key) }
}
