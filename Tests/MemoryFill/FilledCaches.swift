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

final class FilledSecondCache: Filled {
    private let second = MemoryCache<Int, [UInt8]>()
    private let first: MemoryCache<Int, [UInt8]>
    init(behind countLimit: Int) {
        let second = self.second
        var options = MemoryCacheOptions<Int, [UInt8]>()
        options.removalHandler = { key, value, _ in second[key] = value }
        first = MemoryCache(countLimit: countLimit, options: options)
    }
    func store(_ value: [UInt8], _ key: Int) { first[key] = value }
    func load(_ key: Int) -> [UInt8]? { first[key] ?? second[key] }
}

/// What is read is the key; its bytes were there as long as its value is.
final class FilledKeys: Filled {
    private struct Key: Hashable { var bytes: [UInt8], number: Int }
    private let cache = PurgeableCache<Key>()
    private let size = Atomic(0)
    func store(_ value: [UInt8], _ key: Int) {
        size.store(value.count, ordering: .relaxed)
        cache.setBytes(Array(value.prefix(8)), forKey: Key(bytes: value, number: key))
    }
    func load(_ key: Int) -> [UInt8]? {
        let bytes = [UInt8](repeating: MemoryFill.pattern(key), count: size.load(ordering: .relaxed))
        return cache.bytes(forKey: Key(bytes: bytes, number: key)).map { $0 == Array(bytes.prefix(8)) ? bytes : [] }
    }
}
