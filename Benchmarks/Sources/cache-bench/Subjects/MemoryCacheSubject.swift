//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// The product.
struct MemoryCacheSubject: BenchmarkedCache {
    private let cache: MemoryCache<UInt64, UInt64>

    init(limit: Int) { cache = MemoryCache(countLimit: limit) }
    static func key(_ number: UInt64) -> UInt64 { number }
    static func value(_ number: UInt64) -> UInt64 { number }
    @inline(__always) func get(_ key: UInt64) -> UInt64? { cache.value(forKey: key) }
    @inline(__always) func set(_ value: UInt64, _ key: UInt64) { cache.setValue(value, forKey: key) }
}
