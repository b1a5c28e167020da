//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryCaching

/// The caches that load.
public enum CacheKind: CaseIterable, Sendable {
    case memory, purgeable
}

/// A cache of integers of either kind, by the names of `MemoryCache`: so what is promised of loads is tested of both by
/// the same lines.
public final class EitherCache<Key: Hashable & Sendable>: Sendable {
    /// What the cache is.
    public enum Kind: Sendable {
        case memory(MemoryCache<Key, Int>)
        case purgeable(PurgeableCache<Key>)
    }

    /// The cache itself.
    public let kind: Kind

    /// An empty cache of a kind.
    public init(_ kind: CacheKind, name: String = "", options: MemoryCacheOptions<Key, Int> = .init()) {
        switch kind {
        case .memory: self.kind = .memory(MemoryCache(name: name, options: options))
        case .purgeable: self.kind = .purgeable(PurgeableCache(name: name, options: Self.encoded(options)))
        }
    }

    private static func encoded(_ options: MemoryCacheOptions<Key, Int>) -> MemoryCacheOptions<Key, [UInt8]> {
        var encoded = MemoryCacheOptions<Key, [UInt8]>(
            expiresAfter: options.expiresAfter,
            expiresAfterAccess: options.expiresAfterAccess,
            lifetimeJitter: options.lifetimeJitter,
            staleWindow: options.staleWindow,
            keepsExpiredFor: options.keepsExpiredFor,
            softLoadTimeout: options.softLoadTimeout,
            loadTimeout: options.loadTimeout,
            failureLifetime: options.failureLifetime,
            loadHandler: options.loadHandler,
            clock: options.clock,
            evictsUnderMemoryPressure: options.evictsUnderMemoryPressure,
            pressureMonitor: options.pressureMonitor
        )
        if let handler = options.removalHandler {
            encoded.removalHandler = { key, bytes, cause in handler(key, decode(bytes), cause) }
        }
        if let lifetime = options.lifetime {
            encoded.lifetime = { key, bytes in lifetime(key, decode(bytes)) }
        }
        return encoded
    }

    private static func encode(_ value: Int) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
    private static func decode(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } }

    // MARK: Access

    /// The value; setting it stores or removes.
    public subscript(key: Key) -> Int? {
        get { value(forKey: key) }
        set { if let newValue { setValue(newValue, forKey: key) } else { removeValue(forKey: key) } }
    }

    /// The value, a use of it.
    public func value(forKey key: Key) -> Int? {
        switch kind {
        case .memory(let cache): cache.value(forKey: key)
        case .purgeable(let cache): cache.bytes(forKey: key).map(Self.decode)
        }
    }

    /// The value, no use of it.
    public func peekValue(forKey key: Key) -> Int? {
        switch kind {
        case .memory(let cache): cache.peekValue(forKey: key)
        case .purgeable(let cache): cache.peekBytes(forKey: key).map(Self.decode)
        }
    }

    /// Stores a value.
    public func setValue(_ value: Int, forKey key: Key) {
        switch kind {
        case .memory(let cache): cache.setValue(value, forKey: key)
        case .purgeable(let cache): cache.setBytes(Self.encode(value), forKey: key)
        }
    }

    /// Stores a value with a lifetime.
    public func setValue(_ value: Int, forKey key: Key, expiresAfter lifetime: Duration) {
        switch kind {
        case .memory(let cache): cache.setValue(value, forKey: key, expiresAfter: lifetime)
        case .purgeable(let cache): cache.setBytes(Self.encode(value), forKey: key, expiresAfter: lifetime)
        }
    }

    /// Removes a value.
    public func removeValue(forKey key: Key) {
        switch kind {
        case .memory(let cache): cache.removeValue(forKey: key)
        case .purgeable(let cache): cache.removeBytes(forKey: key)
        }
    }

    /// Removes everything.
    public func removeAll() {
        switch kind {
        case .memory(let cache): cache.removeAll()
        case .purgeable(let cache): cache.removeAll()
        }
    }

    /// Removes the values of some keys.
    public func removeAll(where isInvalid: (Key) -> Bool) {
        switch kind {
        case .memory(let cache): cache.removeAll(where: isInvalid)
        case .purgeable(let cache): cache.removeAll(where: isInvalid)
        }
    }

    /// Whether there is a value.
    public func contains(_ key: Key) -> Bool {
        switch kind {
        case .memory(let cache): cache.contains(key)
        case .purgeable(let cache): cache.contains(key)
        }
    }

    /// How many values there are.
    public var count: Int {
        switch kind {
        case .memory(let cache): cache.count
        case .purgeable(let cache): cache.count
        }
    }

    /// What has happened.
    public var statistics: CacheStatistics {
        switch kind {
        case .memory(let cache): cache.statistics
        case .purgeable(let cache): cache.statistics
        }
    }

    /// Sets how many values there may be.
    public func setCountLimit(_ limit: Int) {
        switch kind {
        case .memory(let cache): cache.countLimit = limit
        case .purgeable(let cache): cache.countLimit = limit
        }
    }

    // MARK: Loading

    /// The value, from the cache or from a load.
    public nonisolated(nonsending) func value<E: Error>(
        forKey key: Key,
        load: @escaping @Sendable () async throws(E) -> Int
    ) async throws(E) -> Int {
        switch kind {
        case .memory(let cache): return try await cache.value(forKey: key, load: load)
        case .purgeable(let cache): return Self.decode(try await cache.bytes(forKey: key, load: Self.encoding(load)))
        }
    }

    /// Many values, from the cache or from one load.
    public nonisolated(nonsending) func values<E: Error>(
        forKeys keys: some Sequence<Key>,
        load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Int]
    ) async throws(E) -> [Key: Int] {
        switch kind {
        case .memory(let cache): return try await cache.values(forKeys: keys, load: load)
        case .purgeable(let cache):
            let encoding: @Sendable ([Key]) async throws(E) -> [Key: [UInt8]] = { missing async throws(E) in
                try await load(missing).mapValues(Self.encode)
            }
            return try await cache.bytes(forKeys: keys, load: encoding).mapValues(Self.decode)
        }
    }

    /// Loads though a value is there.
    @discardableResult
    public nonisolated(nonsending) func refreshValue<E: Error>(
        forKey key: Key,
        load: @escaping @Sendable () async throws(E) -> Int
    ) async throws(E) -> Int {
        switch kind {
        case .memory(let cache): return try await cache.refreshValue(forKey: key, load: load)
        case .purgeable(let cache):
            return Self.decode(try await cache.refreshBytes(forKey: key, load: Self.encoding(load)))
        }
    }

    private static func encoding<E: Error>(
        _ load: @escaping @Sendable () async throws(E) -> Int
    ) -> @Sendable () async throws(E) -> [UInt8] {
        { () async throws(E) in encode(try await load()) }
    }
}
