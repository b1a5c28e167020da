//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension MemoryCache {
    /// The value for `key`, from the cache or else from `load`, which runs once however many callers ask meanwhile.
    ///
    /// ```swift
    /// let image = try await images.value(forKey: url) { try await download(url) }
    /// ```
    ///
    /// A hit does not suspend and costs what ``value(forKey:)`` does: the closure is not even made then, which is
    /// what the automatic closure around it is for. Write a closure or name a function; nothing looks different.
    ///
    /// **One load.** The first caller that misses starts the load in a task of its own, with that caller's task-local
    /// values and priority; callers that come meanwhile wait for the same load, and a more urgent one raises its
    /// priority. The value is stored at the cost that the cache's closure names, with the duration of the load as its
    /// recompute cost (see ``MemoryCacheOptions/recomputeCost``), so that eviction keeps what is slow to get.
    ///
    /// **Errors** of the load reach all who wait and leave nothing behind, unless
    /// ``MemoryCacheOptions/failureLifetime`` says to remember them for a while. Callers may differ in `E`: one whose
    /// type cannot express the error of another one's load makes the next load itself.
    ///
    /// **Cancellation.** A cancelled caller leaves at once with a `CancellationError`, and alone; when the last one
    /// has left, the load's task is cancelled and its result stays out of the cache. A caller whose `E` cannot express
    /// a `CancellationError` cannot leave without a value: it stays until the load ends, but no longer keeps the load
    /// from being cancelled.
    ///
    /// **Changes win.** If the key is set or removed during a load, those who waited get what was loaded, the cache
    /// does not; later callers find the new value or start a new load.
    ///
    /// **Recursion.** A load that asks for its own key, directly or around other loads, would wait for itself for
    /// ever. It is told so by ``CacheLoadingError/recursiveLoad(key:)``. Where the inner caller's `E` cannot express
    /// that, its own closure runs unshared, and the outer callers get the error instead of the value. Where theirs
    /// cannot either, they get the value, and the cache keeps nothing; for ``CacheStatistics/loadFailures`` and
    /// ``MemoryCacheOptions/loadHandler`` the load has failed all the same. A load that goes on recursing even so ends
    /// the process with a message.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the value. It may outlive the call, and runs on no actor unless it says so.
    /// - Returns: the value.
    /// - Throws: what the load throws; `CancellationError` and ``CacheLoadingError`` where `E` can express them.
    /// - Complexity: O(1) on average for a hit.
    @inlinable
    @inline(always)
    public nonisolated(nonsending) func value<E: Error>(
        forKey key: Key,
        load: @autoclosure () -> @Sendable () async throws(E) -> Value
    ) async throws(E) -> Value {
        // Inlined, because to call an asynchronous function takes as long again as a hit: 29 ns instead of 14.
        if hasStaleWindow {
            if let value = loading.refreshingValue(forKey: key, load) { return value }
        } else if let value = value(forKey: key) {
            return value
        }
        return try await loading.loadedValue(forKey: key, load())
    }

    /// As the other method of this name, with a closure that never suspends: without this, a bare closure
    /// after `await` would be taken for that of ``value(forKey:orSet:)``, which is not shared by callers.
    @_documentation(visibility: internal)
    @inlinable
    @inline(always)
    public nonisolated(nonsending) func value<E: Error>(
        forKey key: Key,
        load: @autoclosure () -> @Sendable () throws(E) -> Value
    ) async throws(E) -> Value {
        if !hasStaleWindow, let value = value(forKey: key) { return value }
        let plain = load()
        let load: @Sendable () async throws(E) -> Value = { () async throws(E) -> Value in try plain() }
        return try await hasStaleWindow ? value(forKey: key, load: load) : loading.loadedValue(forKey: key, load)
    }

    /// Loads the value for `key` though one may be there, and stores it in place of that.
    ///
    /// Until the load has ended, lookups find the old value; it stays if the load fails. A load of the key that is
    /// under way is shared: its value is returned, also where the key is set or removed meanwhile and the cache keeps
    /// that change. Where that load ends without its value, because one was stored first by
    /// ``value(forKey:orSet:)``, `load` is called after all. For the rest as ``value(forKey:load:)``; a failure that is
    /// remembered keeps nobody from trying.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the value. It may outlive the call, and runs on no actor unless it says so.
    /// - Returns: what was loaded.
    /// - Throws: what the load throws; `CancellationError` and ``CacheLoadingError`` where `E` can express them.
    @discardableResult
    public nonisolated(nonsending) func refreshValue<E: Error>(
        forKey key: Key,
        load: @escaping @Sendable () async throws(E) -> Value
    ) async throws(E) -> Value {
        try await loading.loadedValue(forKey: key, isForced: true, load)
    }
}
