//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization

final class FilledDictionary: Filled {
    private let values = Mutex<[Int: [UInt8]]>([:])
    func store(_ value: [UInt8], _ key: Int) { values.withLock { $0[key] = value } }
    func load(_ key: Int) -> [UInt8]? { values.withLock { $0[key] } }
}

final class FilledMemoryCache: Filled {
    private let cache = MemoryCache<Int, [UInt8]>()
    private let givesCosts: Bool
    init(givesCosts: Bool) { self.givesCosts = givesCosts }
    func store(_ value: [UInt8], _ key: Int) {
        if givesCosts {
            cache.setValue(value, forKey: key, cost: value.count)
        } else {
            cache[key] = value
        }
    }
    func load(_ key: Int) -> [UInt8]? { cache[key] }
}

final class FilledPurgeableCache: Filled {
    private let cache = PurgeableCache<Int>()
    func store(_ value: [UInt8], _ key: Int) { cache.setBytes(value, forKey: key) }
    func load(_ key: Int) -> [UInt8]? { cache.bytes(forKey: key) }
}
