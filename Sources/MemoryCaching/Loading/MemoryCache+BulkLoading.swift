//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension MemoryCache {
    /// The values for `keys`, from the cache, from loads under way, and for the rest from one call of `load`.
    ///
    /// ```swift
    /// let users = try await users.values(forKeys: ids) { missing in try await database.users(missing) }
    /// ```
    ///
    /// Results may be partial: a key that `load` returns no value for is absent from the answer, and nothing is stored
    /// for it. Values for keys that were not asked of `load` are ignored. A key that another caller is loading already
    /// is waited for; if that load fails or has no value, the key goes into one more call of `load` here. Callers of
    /// ``value(forKey:load:)`` share the bulk load for their key likewise. Where failures are remembered
    /// (``MemoryCacheOptions/failureLifetime``), the error of a key whose last load has failed is thrown instead, be it
    /// one that was waited for.
    ///
    /// Values in their stale window are answered at once, and refreshed by one more call of `load` in the background.
    ///
    /// Values are stored one by one as with ``value(forKey:load:)``; each is taken to cost an equal share of the
    /// load's duration. Cancellation, changes during the load, errors and recursion are as described there; an error
    /// of `load` is thrown, and what else was found meanwhile stays in the cache.
    ///
    /// - Parameters:
    ///   - keys: the keys; duplicates count once.
    ///   - load: makes the values of keys that are missing, each of which it is given once.
    /// - Returns: the values found and loaded.
    /// - Throws: what the load throws; `CancellationError` and ``CacheLoadingError`` where `E` can express them.
    /// - Complexity: O(*n*) on average.
    public nonisolated(nonsending) func values<E: Error>(
        forKeys keys: some Sequence<Key>,
        load: @autoclosure () -> @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) async throws(E) -> [Key: Value] {
        try await loading.values(forKeys: keys, load)
    }
}
