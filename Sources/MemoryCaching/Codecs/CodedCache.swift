//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A cache of values that are kept as bytes in purgeable memory: a ``PurgeableCache`` and a codec.
///
/// ```swift
/// let pages = CodedCache<String, String>(name: "pages", options: .init(expiresAfter: .seconds(60)), codec: .string)
/// let page = try await pages.value(forKey: path) { try await render(path) }
/// ```
///
/// Each hit decodes, so that codecs should be fast. Bytes that the codec does not understand, as those that another
/// version has encoded, are taken for missing, also where they would be a fallback
/// (``MemoryCacheOptions/keepsExpiredFor``); in the statistics, which count bytes, they are a hit. All else is as with
/// ``PurgeableCache``, which is at ``bytes``.
public final class CodedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The cache of the encoded values: limits, statistics, removals and keys.
    public let bytes: PurgeableCache<Key>

    private let codec: any CacheCodec<Value>

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - name: a name for people: logs, metrics, debuggers.
    ///   - countLimit: values at most; 0 or less is no limit.
    ///   - totalCostLimit: bytes of encoded values at most; 0 or less is no limit.
    ///   - options: lifetimes and the rest. Closures are given encoded values.
    ///   - codec: how values become bytes.
    public init(
        name: String = "",
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        options: MemoryCacheOptions<Key, [UInt8]> = .init(),
        codec: some CacheCodec<Value>
    ) {
        bytes = PurgeableCache(
            name: name,
            countLimit: countLimit,
            totalCostLimit: totalCostLimit,
            options: options,
            mayFallBack: { (try? Self.decode($0, by: codec)) != nil }
        )
        self.codec = codec
    }

    /// The value for `key`, or nil if there is none, the kernel has taken it, or its bytes stand for none.
    public func value(forKey key: Key) -> Value? {
        // An optional of an optional: no bytes, or bytes that stand for no value.
        bytes.withBytes(forKey: key) { try? codec.decode($0) } ?? nil
    }

    /// Stores `value`.
    ///
    /// - Returns: whether it was stored; see ``PurgeableCache/setBytes(_:forKey:)-(RawSpan,_)``.
    /// - Throws: what the codec throws; what was stored stays then.
    @discardableResult
    public func setValue(_ value: Value, forKey key: Key) throws -> Bool {
        try bytes.setBytes(codec.encode(value), forKey: key)
    }

    /// Stores `value` for `lifetime`.
    ///
    /// - Returns: whether it was stored; see ``PurgeableCache/setBytes(_:forKey:)-(RawSpan,_)``.
    /// - Throws: what the codec throws; what was stored stays then.
    @discardableResult
    public func setValue(_ value: Value, forKey key: Key, expiresAfter lifetime: Duration) throws -> Bool {
        try bytes.setBytes(codec.encode(value), forKey: key, expiresAfter: lifetime)
    }

    /// Removes the value for `key` and says whether there was one.
    @discardableResult
    public func removeValue(forKey key: Key) -> Bool { bytes.removeBytes(forKey: key) }

    /// The value for `key`, from the cache or else from `load`, which runs once however many callers ask meanwhile. All
    /// as ``MemoryCache/value(forKey:load:)`` says.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the value. It may outlive the call, and runs on no actor unless it says so.
    /// - Returns: the value.
    /// - Throws: what the load or the codec throws; `CancellationError` and ``CacheLoadingError``.
    public nonisolated(nonsending) func value(
        forKey key: Key,
        load: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let encoded = encoding(load)
        let found = try await bytes.bytes(forKey: key, load: encoded)
        if let value = try? decode(found) { return value }
        removeUnknown(key)
        // What has been loaded just now is understood, or the codec's error says why not.
        let loaded = try await bytes.bytes(forKey: key, load: encoded)
        return try decode(loaded)
    }

    /// As the other method of this name, with a closure that never suspends: without this, a bare closure after `await`
    /// would be taken for that of ``value(forKey:orSet:)``, which is not shared by callers.
    @_documentation(visibility: internal)
    public nonisolated(nonsending) func value(
        forKey key: Key,
        load: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let suspending: @Sendable () async throws -> Value = { () async throws -> Value in try load() }
        return try await value(forKey: key, load: suspending)
    }

    /// Loads the value for `key` though one may be there, and stores it in place of that. All as
    /// ``MemoryCache/refreshValue(forKey:load:)`` says.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the value.
    /// - Returns: the new value.
    /// - Throws: what the load or the codec throws; `CancellationError` and ``CacheLoadingError``.
    @discardableResult
    public nonisolated(nonsending) func refreshValue(
        forKey key: Key,
        load: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let loaded = try await bytes.refreshBytes(forKey: key, load: encoding(load))
        return try decode(loaded)
    }

    /// The values for `keys`, from the cache, from loads under way, and for the rest from one call of `load`; those
    /// whose bytes the codec does not understand come from a second one. All else as
    /// ``MemoryCache/values(forKeys:load:)`` says.
    ///
    /// - Parameters:
    ///   - keys: the keys; duplicates count once.
    ///   - load: makes the values of keys that are missing, each of which it is given once.
    /// - Returns: the values found and loaded.
    /// - Throws: what the load or the codec throws; `CancellationError` and ``CacheLoadingError``.
    public nonisolated(nonsending) func values(
        forKeys keys: some Sequence<Key>,
        load: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) async throws -> [Key: Value] {
        let encoded: @Sendable ([Key]) async throws -> [Key: [UInt8]] = { [codec] missing in
            try await load(missing).mapValues { try codec.encode($0) }
        }
        var values: [Key: Value] = [:]
        var unknown: [Key] = []
        for (key, found) in try await bytes.bytes(forKeys: keys, load: encoded) {
            if let value = try? decode(found) { values[key] = value } else { unknown.append(key) }
        }
        guard !unknown.isEmpty else { return values }
        for key in unknown { removeUnknown(key) }
        for (key, loaded) in try await bytes.bytes(forKeys: unknown, load: encoded) {
            values[key] = try decode(loaded)
        }
        return values
    }

    /// The value for `key`, from the cache or else from `make`, whose value is stored. All as
    /// ``MemoryCache/value(forKey:orSet:)`` says.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - make: makes the value if there is none. Runs on this thread, outside every lock.
    /// - Returns: the value that was there, or is now.
    /// - Throws: what `make` or the codec throws; nothing is stored then.
    public func value(forKey key: Key, orSet make: () throws -> Value) throws -> Value {
        let encoded = { () throws -> [UInt8] in try self.codec.encode(make()) }
        let found = try bytes.bytes(forKey: key, orSet: encoded)
        if let value = try? decode(found) { return value }
        removeUnknown(key)
        return try decode(bytes.bytes(forKey: key, orSet: encoded))
    }

    /// Removes bytes that stand for no value, as those of another version of the program; not what has been stored
    /// meanwhile.
    private func removeUnknown(_ key: Key) {
        bytes.removeBytes(forKey: key) { (try? decode($0)) == nil }
    }

    private func decode(_ bytes: [UInt8]) throws -> Value { try Self.decode(bytes, by: codec) }

    private static func decode(_ bytes: [UInt8], by codec: some CacheCodec<Value>) throws -> Value {
        // Not `bytes.span`, which needs macOS 26.
        try bytes.withUnsafeBytes { try codec.decode(RawSpan(_unsafeBytes: $0)) }
    }

    private func encoding(
        _ load: @escaping @Sendable () async throws -> Value
    ) -> @Sendable () async throws -> [UInt8] {
        { [codec] in try codec.encode(try await load()) }
    }
}
