//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCachingTestKit
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What both caches promise of loading, in one set of names.
protocol LoadingFace<Key>: AnyObject, Sendable {
    associatedtype Key: Hashable & Sendable
    typealias Load = @Sendable () async throws -> [UInt8]

    init(_ options: MemoryCacheOptions<Key, [UInt8]>)
    var loading: Loader<Key, [UInt8]> { get }
    var statistics: CacheStatistics { get }
    func get(_ key: Key) -> [UInt8]?
    func get(_ key: Key, _ load: @escaping Load) async throws -> [UInt8]
    func get(_ keys: [Key], _ load: @escaping @Sendable ([Key]) async throws -> [Key: [UInt8]]) async throws
        -> [Key: [UInt8]]
    func make(_ key: Key, _ make: () -> [UInt8]) -> [UInt8]
    func refresh(_ key: Key, _ load: @escaping Load) async throws -> [UInt8]
    func update(_ key: Key, _ change: (inout [UInt8]?) -> Void) -> [UInt8]?
    func peek(_ key: Key) -> [UInt8]?
    func set(_ key: Key, _ bytes: [UInt8], _ lifetime: Duration?)
    func remove(_ key: Key)
    func removeAll()
    func removeAll(where isInvalid: (Key) -> Bool)
    func trim(toCount count: Int)
    func hottestKeys(_ limit: Int) -> [Key]
    func listed(_ limit: Int) -> [Key: [UInt8]]
    var count: Int { get }
}

extension MemoryCache: LoadingFace where Value == [UInt8] {
    convenience init(_ options: MemoryCacheOptions<Key, [UInt8]>) {
        var options = options
        // What the machine runs short of is no matter here.
        options.evictsUnderMemoryPressure = false
        self.init(options: options)
    }
    func get(_ key: Key) -> [UInt8]? { value(forKey: key) }
    func get(_ key: Key, _ load: @escaping Load) async throws -> [UInt8] { try await value(forKey: key, load: load) }
    func get(
        _ keys: [Key],
        _ load: @escaping @Sendable ([Key]) async throws -> [Key: [UInt8]]
    ) async throws -> [Key: [UInt8]] { try await values(forKeys: keys, load: load) }
    func make(_ key: Key, _ make: () -> [UInt8]) -> [UInt8] { value(forKey: key, orSet: make) }
    func refresh(_ key: Key, _ load: @escaping Load) async throws -> [UInt8] {
        try await refreshValue(forKey: key, load: load)
    }
    func update(_ key: Key, _ change: (inout [UInt8]?) -> Void) -> [UInt8]? { updateValue(forKey: key, change) }
    func peek(_ key: Key) -> [UInt8]? { peekValue(forKey: key) }
    func set(_ key: Key, _ bytes: [UInt8], _ lifetime: Duration?) {
        if let lifetime { setValue(bytes, forKey: key, expiresAfter: lifetime) } else { setValue(bytes, forKey: key) }
    }
    func remove(_ key: Key) { removeValue(forKey: key) }
    func listed(_ limit: Int) -> [Key: [UInt8]] {
        Dictionary(uniqueKeysWithValues: entries(limit: limit).map { ($0.key, $0.value) })
    }
}

extension PurgeableCache: LoadingFace {
    convenience init(_ options: MemoryCacheOptions<Key, [UInt8]>) {
        var options = options
        // What the machine runs short of is no matter here.
        options.evictsUnderMemoryPressure = false
        self.init(options: options)
    }
    func get(_ key: Key) -> [UInt8]? { bytes(forKey: key) }
    func get(_ key: Key, _ load: @escaping Load) async throws -> [UInt8] { try await bytes(forKey: key, load: load) }
    func get(
        _ keys: [Key],
        _ load: @escaping @Sendable ([Key]) async throws -> [Key: [UInt8]]
    ) async throws -> [Key: [UInt8]] { try await bytes(forKeys: keys, load: load) }
    func make(_ key: Key, _ make: () -> [UInt8]) -> [UInt8] { bytes(forKey: key, orSet: make) }
    func refresh(_ key: Key, _ load: @escaping Load) async throws -> [UInt8] {
        try await refreshBytes(forKey: key, load: load)
    }
    func update(_ key: Key, _ change: (inout [UInt8]?) -> Void) -> [UInt8]? { updateBytes(forKey: key, change) }
    func peek(_ key: Key) -> [UInt8]? { peekBytes(forKey: key) }
    func set(_ key: Key, _ bytes: [UInt8], _ lifetime: Duration?) {
        if let lifetime { setBytes(bytes, forKey: key, expiresAfter: lifetime) } else { setBytes(bytes, forKey: key) }
    }
    func remove(_ key: Key) { removeBytes(forKey: key) }
    func listed(_ limit: Int) -> [Key: [UInt8]] {
        Dictionary(uniqueKeysWithValues: entries(limit: limit).map { ($0.key, $0.bytes) })
    }
}
