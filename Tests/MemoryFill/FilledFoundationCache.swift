//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// Foundation's NSCache, which takes objects alone. In a file of its own: the name is FoundationCaching's, too.
final class FilledFoundationCache: Filled, @unchecked Sendable {
    // Sendable because NSCache has a lock of its own.
    private let cache = NSCache<NSNumber, NSData>()
    func store(_ value: [UInt8], _ key: Int) {
        cache.setObject(NSData(data: Data(value)), forKey: NSNumber(value: key), cost: value.count)
    }
    func load(_ key: Int) -> [UInt8]? {
        cache.object(forKey: NSNumber(value: key)).map { Array(Data(referencing: $0)) }
    }
}
