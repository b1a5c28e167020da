//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching

/// This package's NSCache, with objects that are no more than their bytes.
final class FilledNSCache: Filled, @unchecked Sendable {
    // Sendable because the cache may be used from any thread; its values are never changed.
    private let cache = FoundationCaching.NSCache<NSNumber, Value>()
    private final class Value: Sendable {
        let bytes: [UInt8]
        init(_ bytes: [UInt8]) { self.bytes = bytes }
    }
    func store(_ value: [UInt8], _ key: Int) { cache.setObject(Value(value), forKey: NSNumber(value: key)) }
    func load(_ key: Int) -> [UInt8]? { cache.object(forKey: NSNumber(value: key))?.bytes }
}
