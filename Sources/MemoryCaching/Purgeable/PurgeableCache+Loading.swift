//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension PurgeableCache {
    /// The bytes for `key`, from the cache or else from `load`, which runs once however many callers ask meanwhile. All
    /// as ``MemoryCache/value(forKey:load:)`` says; bytes that the kernel has taken are loaded again.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the bytes. It may outlive the call, and runs on no actor unless it says so.
    /// - Returns: the bytes.
    /// - Throws: what the load throws; `CancellationError` and ``CacheLoadingError`` where `E` can express them.
    /// - Complexity: O(*n*) in the bytes for a hit.
    @inlinable
    public nonisolated(nonsending) func bytes<E: Error>(
        forKey key: Key,
        load: @autoclosure () -> @Sendable () async throws(E) -> [UInt8]
    ) async throws(E) -> [UInt8] {
        if loading.hasStaleWindow {
            if let bytes = loading.refreshingValue(forKey: key, load) { return bytes }
        } else if let bytes = bytes(forKey: key) {
            return bytes
        }
        return try await loading.loadedValue(forKey: key, load())
    }

    /// As the other method of this name, with a closure that never suspends: without this, a bare closure after `await`
    /// would be taken for that of ``bytes(forKey:orSet:)``, which is not shared by callers.
    @_documentation(visibility: internal)
    @inlinable
    public nonisolated(nonsending) func bytes<E: Error>(
        forKey key: Key,
        load: @autoclosure () -> @Sendable () throws(E) -> [UInt8]
    ) async throws(E) -> [UInt8] {
        if !loading.hasStaleWindow, let bytes = bytes(forKey: key) { return bytes }
        let plain = load()
        let load: @Sendable () async throws(E) -> [UInt8] = { () async throws(E) -> [UInt8] in try plain() }
        if loading.hasStaleWindow { return try await bytes(forKey: key, load: load) }
        return try await loading.loadedValue(forKey: key, load)
    }

    /// The bytes for `keys`, from the cache, from loads under way, and for the rest from one call of `load`. All as
    /// ``MemoryCache/values(forKeys:load:)`` says.
    ///
    /// - Parameters:
    ///   - keys: the keys; duplicates count once.
    ///   - load: makes the bytes of keys that are missing, each of which it is given once.
    /// - Returns: what was found and loaded.
    /// - Throws: what the load throws; `CancellationError` and ``CacheLoadingError`` where `E` can express them.
    public nonisolated(nonsending) func bytes<E: Error>(
        forKeys keys: some Sequence<Key>,
        load: @autoclosure () -> @Sendable ([Key]) async throws(E) -> [Key: [UInt8]]
    ) async throws(E) -> [Key: [UInt8]] {
        try await loading.values(forKeys: keys, load)
    }

    /// Loads the bytes for `key` though some may be there, and stores them in place of those. All as
    /// ``MemoryCache/refreshValue(forKey:load:)`` says.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the bytes.
    /// - Returns: the new bytes.
    /// - Throws: what the load throws; `CancellationError` and ``CacheLoadingError`` where `E` can express them.
    @discardableResult
    public nonisolated(nonsending) func refreshBytes<E: Error>(
        forKey key: Key,
        load: @escaping @Sendable () async throws(E) -> [UInt8]
    ) async throws(E) -> [UInt8] {
        try await loading.loadedValue(forKey: key, isForced: true, load)
    }
}
