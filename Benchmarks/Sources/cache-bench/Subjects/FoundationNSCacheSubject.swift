//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The cache that comes with Swift on Linux.
final class FoundationNSCacheSubject<Keys: KeyFactory>: BenchmarkedCache where Keys.Key: AnyObject {
    private let cache = Foundation.NSCache<Keys.Key, NSNumber>()

    init(limit: Int) { cache.countLimit = limit }
    static func value(_ number: UInt64) -> NSNumber { NSNumber(value: number) }
    func get(_ key: Keys.Key) -> NSNumber? { cache.object(forKey: key) }
    func set(_ value: NSNumber, _ key: Keys.Key) { cache.setObject(value, forKey: key) }
}
