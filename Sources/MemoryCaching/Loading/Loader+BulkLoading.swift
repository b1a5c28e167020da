//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

extension Loader {
    /// A caller's place in a flight.
    private typealias Seat = (flight: Flight<Key, Value>, waiter: Flight<Key, Value>.Waiter)

    /// The values for `keys` that are there, under way, or made by `load`.
    nonisolated(nonsending) func values<E: Error>(
        forKeys keys: some Sequence<Key>,
        _ load: () -> @Sendable ([Key]) async throws(E) -> [Key: Value]
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
        var isAgain = false
        while !missing.isEmpty {
            missing = try await loadRound(missing, isAgain: isAgain, into: &found, load)
            isAgain = true
        }
        return found
    }

    /// Boards the flights of all keys, makes one load for those that nobody is loading, and waits for all.
    ///
    /// - Returns: keys whose flights, started by others, ended without a value: they are for the next round.
    private nonisolated(nonsending) func loadRound<E: Error>(
        _ keys: [Key],
        isAgain: Bool,
        into found: inout [Key: Value],
        _ load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) async throws(E) -> [Key] {
        let cancellation = CancellationError() as? E
        if let cancellation, Task.isCancelled { throw cancellation }
        let run = LoadRun(priority: Task.currentPriority)
        let (seats, remembered): (Seats, E?) = board(keys, run, isAgain: isAgain, into: &found)
        var failure = remembered
        // The wait is noted before the load can run, as for one key.
        let context = seats.led.isEmpty ? nil : LoadContext.current?.run
        if let context { _ = WaitGraph.begin(context, awaits: run) }
        defer { if let context { WaitGraph.end(context, awaits: run) } }
        if !seats.led.isEmpty { start(seats.led.map(\.flight), of: run, reason: .bulk, load) }

        let wait = seats.shared.isEmpty ? nil : LoadSpan.ofWait(name: store.name, keyCount: seats.shared.count)
        var waitError: (any Error)?
        var again: [Key] = []
        // First those of the load made here: if it fails, there is nothing to wait for in the others.
        let all = seats.led + seats.shared
        await whileWaiting(for: all) {
            for (flight, waiter) in all {
                let isOwn = flight.run === run
                if failure != nil && !isOwn {
                    flight.cancel(waiter)
                    continue
                }
                let outcome = await outcome(of: flight, for: waiter)
                if !isOwn { waitError = waitError ?? Self.error(of: outcome) }
                switch outcome {
                case .value(let value), .present(let value): found[flight.key] = value
                case .fallback(let value): found[flight.key] = didFallBack(to: value)
                case .recursive(let value):
                    failure = failure ?? CacheLoadingError.recursiveLoad(key: "\(flight.key)") as? E
                    found[flight.key] = value
                case .failure(let error):
                    if let value = store.fallback(forKey: flight.key) {
                        found[flight.key] = didFallBack(to: value)
                    } else if isOwn {
                        failure = failure ?? error as? E
                    } else {
                        again.append(flight.key)
                    }
                case .absent:
                    if !isOwn { again.append(flight.key) }
                case .left: failure = failure ?? cancellation
                case nil:
                    let (value, error) = await recursiveBulkValue(forKey: flight.key, in: flight.run, load)
                    failure = failure ?? error
                    found[flight.key] = value
                }
            }
        }
        wait?.end(waitFor: seats.shared.map(\.flight.run), waitError)
        if let failure { throw failure }
        return again
    }

    /// A caller's places in the flights of its keys: those of its own load, and those that others started.
    private typealias Seats = (led: [Seat], shared: [Seat])

    /// Boards the flights of the keys whose end is not known yet; new ones belong to `run`. The error is that of a
    /// failure that is still remembered.
    private func board<E: Error>(
        _ keys: [Key],
        _ run: LoadRun,
        isAgain: Bool,
        into found: inout [Key: Value]
    ) -> (Seats, E?) {
        let terms = WaiterTerms(E.self, takesFallback: true)
        var seats: Seats = ([], [])
        var failure: E?
        func isKnown(_ key: Key) -> Bool {
            switch knownEnd(of: key, as: E.self) {
            case .success(let value): found[key] = value
            case .failure(let known): failure = failure ?? known
            case nil: return false
            }
            return true
        }
        for key in keys where !isKnown(key) {
            switch flights.board(key, terms, throwing: E.self, isAgain: isAgain, makeRun: { run }) {
            case .joined(let flight, let waiter):
                didShare(flight)
                seats.shared.append((flight, waiter))
            case .leads(let flight, let waiter):
                if let value = store.peekValue(forKey: key) {
                    flights.landUnloaded(flight, .present(value))
                    found[key] = value
                } else if isKnown(key) {
                    flights.landUnloaded(flight, .absent)
                } else {
                    seats.led.append((flight, waiter))
                }
            }
        }
        return (seats, failure)
    }

    /// Runs `operation`, which waits for one flight after the other. A cancellation and a higher priority of the caller
    /// reach the loads of all flights at once, also of those that it does not wait for yet.
    private nonisolated(nonsending) func whileWaiting(
        for seats: [Seat],
        _ operation: nonisolated(nonsending) () async -> Void
    ) async {
        await withTaskCancellationHandler {
            await withEscalationHandler(operation: operation) { priority in
                for (flight, _) in seats { flight.run.escalate(to: priority) }
            }
        } onCancel: {
            for (flight, waiter) in seats { flight.cancel(waiter) }
        }
    }

    /// Makes one load for many new flights in a task of its own.
    func start<E: Error>(
        _ led: [Flight<Key, Value>],
        of run: LoadRun,
        reason: CacheLoad<Key>.Reason,
        _ load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) {
        trace(led, of: run, reason)
        let watch = watch(led, of: run, reason)
        run.start { [self] in
            defer { watch?.cancel() }
            let keys = led.map(\.key)
            let began = beginLoad()
            do throws(E) {
                let values = try await load(keys)
                guard run.end() else { return led.forEach { landLate($0, values[$0.key]) } }
                let result = led[0].result(valueCount: values.count)
                let duration = endLoad(keys, of: run, reason, since: began, result) / keys.count
                for flight in led {
                    let outcome = values[flight.key].map { deliver($0, to: flight, after: duration) }
                    if outcome == nil { didFindNothing(for: flight) }
                    flights.land(flight, outcome ?? .absent)
                }
            } catch {
                guard run.end() else { return led.forEach { flights.land($0, .failure(error)) } }
                endLoad(keys, of: run, reason, since: began, .failed(error))
                for flight in led {
                    didFail(flight, error)
                    flights.land(flight, .failure(error))
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
