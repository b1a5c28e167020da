//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

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
    /// ``value(forKey:load:)`` share the bulk load for their key likewise.
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
        var found: [Key: Value] = [:]
        var missing: [Key] = []
        var stale: [StaleKey] = []
        var seen: Set<Key> = []
        for key in keys where seen.insert(key).inserted {
            if let value = value(forKey: key, noting: &stale) { found[key] = value } else { missing.append(key) }
        }
        guard !(missing.isEmpty && stale.isEmpty) else { return found }
        let load = load()
        refresh(stale, load)
        while !missing.isEmpty { missing = try await loadRound(missing, into: &found, load) }
        return found
    }

    /// Boards the flights of all keys, makes one load for those that nobody is loading, and waits for all.
    ///
    /// - Returns: keys whose flights, started by others, ended without a value: they are for the next round.
    private nonisolated(nonsending) func loadRound<E: Error>(
        _ keys: [Key],
        into found: inout [Key: Value],
        _ load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) async throws(E) -> [Key] {
        let cancellation = CancellationError() as? E
        if let cancellation, Task.isCancelled { throw cancellation }
        let run = LoadRun(priority: Task.currentPriority)
        var shared: [(flight: Flight<Key, Value>, waiter: Flight<Key, Value>.Waiter)] = []
        var led: [(flight: Flight<Key, Value>, waiter: Flight<Key, Value>.Waiter)] = []
        var failure: E?
        for key in keys {
            if let known = loading.rememberedFailure(of: key, as: E.self) {
                failure = failure ?? known
                continue
            }
            switch loading.flights.board(key, mayLeave: cancellation != nil, makeRun: { run }) {
            case .joined(let flight, let waiter):
                loading.didShare(flight)
                shared.append((flight, waiter))
            case .leads(let flight, let waiter):
                if let value = presentValue(forKey: key) {
                    loading.flights.landUnloaded(flight, .present(value))
                    found[key] = value
                } else {
                    led.append((flight, waiter))
                }
            }
        }
        if !led.isEmpty { start(led.map(\.flight), of: run, reason: .bulk, load) }

        var again: [Key] = []
        // First those of the load made here: if it fails, there is nothing to wait for in the others.
        for (flight, waiter) in led + shared {
            let isOwn = flight.run === run
            if failure != nil && !isOwn {
                flight.cancel(waiter)
                continue
            }
            switch await outcome(of: flight, for: waiter) {
            case .value(let value), .present(let value): found[flight.key] = value
            case .recursive(let value):
                failure = failure ?? CacheLoadingError.recursiveLoad(key: "\(flight.key)") as? E
                found[flight.key] = value
            case .failure(let error):
                if isOwn { failure = failure ?? error as? E } else { again.append(flight.key) }
            case .absent:
                if !isOwn { again.append(flight.key) }
            case .left: failure = failure ?? cancellation
            case nil:
                let (value, error) = await recursiveBulkValue(forKey: flight.key, in: flight.run, load)
                failure = failure ?? error
                found[flight.key] = value
            }
        }
        if let failure { throw failure }
        return again
    }

    /// Makes one load for many new flights in a task of its own.
    func start<E: Error>(
        _ flights: [Flight<Key, Value>],
        of run: LoadRun,
        reason: CacheLoad<Key>.Reason,
        _ load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) {
        run.start { [self] in
            let keys = flights.map(\.key)
            let began = loading.beginLoad()
            do throws(E) {
                let values = try await load(keys)
                let result = flights[0].result(valueCount: values.count)
                let duration = loading.endLoad(keys, reason, since: began, result) / keys.count
                for flight in flights {
                    let outcome = values[flight.key].map { deliver($0, to: flight, after: duration) }
                    if outcome == nil { didFindNothing(for: flight) }
                    loading.flights.land(flight, outcome ?? .absent)
                }
            } catch {
                loading.endLoad(keys, reason, since: began, .failed(error))
                for flight in flights {
                    didFail(flight, error)
                    loading.flights.land(flight, .failure(error))
                }
            }
        }
    }

    /// A bulk load inside a load of one of its keys: as in the case of one key.
    private nonisolated(nonsending) func recursiveBulkValue<E: Error>(
        forKey key: Key,
        in run: LoadRun,
        _ load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) async -> (Value?, E?) {
        let report = CacheLoadingError.recursiveLoad(key: "\(key)")
        if let error = report as? E { return (nil, error) }
        guard let context = LoadContext.current, !context.isRecursing else { fatalError(report.description) }
        run.foundRecursion.store(true, ordering: .releasing)
        return await LoadContext.inside(context.run, isRecursing: true) {
            do throws(E) { return (try await load([key])[key], nil) } catch { return (nil, error) }
        }
    }
}
