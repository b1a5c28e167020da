//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

// What one load and bulk loads have in common: making the load in its task, waiting for it, handing in what it returns.
extension Loader {
    /// Makes the load of a new flight in a task of its own.
    func start<E: Error>(
        _ flight: Flight<Key, Value>,
        reason: CacheLoad<Key>.Reason,
        _ load: @escaping @Sendable () async throws(E) -> Value
    ) {
        trace([flight], of: flight.run, reason)
        let watch = watch([flight], of: flight.run, reason)
        flight.run.start { [self] in
            defer { watch?.cancel() }
            let began = beginLoad()
            let outcome: FlightOutcome<Value>
            do throws(E) {
                let value = try await load()
                guard flight.run.end() else { return landLate(flight, value) }
                let result = flight.result(valueCount: 1)
                let duration = endLoad([flight.key], of: flight.run, reason, since: began, result)
                outcome = deliver(value, to: flight, after: duration)
            } catch {
                guard flight.run.end() else { return flights.land(flight, .failure(error)) }
                endLoad([flight.key], of: flight.run, reason, since: began, .failed(error))
                didFail(flight, error)
                outcome = .failure(error)
            }
            flights.land(flight, outcome)
        }
    }

    /// Hands what was loaded too late to those who could not be told so; the cache does not get it.
    func landLate(_ flight: Flight<Key, Value>, _ value: Value?) {
        let isRecursive = flight.run.foundRecursion.load(ordering: .acquiring)
        flights.land(flight, value.map { isRecursive ? .recursive($0) : .value($0) } ?? .absent)
    }

    /// Stores what was loaded unless the key has changed meanwhile; answers what to tell the waiters.
    func deliver(_ value: Value, to flight: Flight<Key, Value>, after duration: Duration) -> FlightOutcome<Value> {
        if flight.run.foundRecursion.load(ordering: .acquiring) { return .recursive(value) }
        let key = flight.key
        // An unknown cost counts as 1 to the policy: so a value that was set by hand is taken for a load of a
        // millisecond.
        let milliseconds = duration / .milliseconds(1)
        let first = keepFirst(
            value,
            forKey: key,
            recomputeCost: recomputeCost?(key, value, duration) ?? (milliseconds > 0 ? milliseconds : nil),
            ticket: flight.ticket
        )
        return first.map { .present($0) } ?? .value(value)
    }

    /// As ``outcome(of:for:)``, for a caller that shares the load of another one.
    nonisolated(nonsending) func sharedOutcome(
        of flight: Flight<Key, Value>,
        for waiter: Flight<Key, Value>.Waiter
    ) async -> FlightOutcome<Value>? {
        let span: LoadSpan? = LoadSpan.ofWait(name: store.name, keyCount: 1)
        let outcome = await outcome(of: flight, for: waiter)
        span?.end(waitFor: [flight.run], Self.error(of: outcome))
        return outcome
    }

    /// The error that has ended a wait, which ended with `outcome`.
    static func error(of outcome: FlightOutcome<Value>?) -> (any Error)? {
        switch outcome {
        case .failure(let error): error
        case .left: CancellationError()
        case .recursive, nil: CacheLoadingError.recursiveLoad(key: "")
        case .value, .absent, .fallback, .present: nil
        }
    }

    /// Waits for a flight that the caller has boarded; nil if the caller is inside a load that the flight waits for,
    /// so that waiting would never end. The caller has left the flight then.
    ///
    /// `start` starts the load, where the caller leads the flight. It runs once the wait is noted: a load that asks for
    /// one that waits for it is told so itself, however fast it gets there, and not its caller.
    nonisolated(nonsending) func outcome(
        of flight: Flight<Key, Value>,
        for waiter: Flight<Key, Value>.Waiter,
        start: () -> Void = {}
    ) async -> FlightOutcome<Value>? {
        guard let run = LoadContext.current?.run else {
            start()
            return await flight.outcome(for: waiter)
        }
        guard WaitGraph.begin(run, awaits: flight.run) else {
            flight.cancel(waiter)
            return nil
        }
        defer { WaitGraph.end(run, awaits: flight.run) }
        start()
        return await flight.outcome(for: waiter)
    }

    /// Reports that a load has asked for itself: to this caller if it can be told, else to those who wait for the load,
    /// while this caller's closure makes the value that it asked for. The second time there is no other end to it than
    /// the process's.
    nonisolated(nonsending) func recursiveValue<E: Error>(
        forKey key: Key,
        in run: LoadRun,
        _ load: @escaping @Sendable () async throws(E) -> Value
    ) async throws(E) -> Value {
        let report = CacheLoadingError.recursiveLoad(key: "\(key)")
        if let error = report as? E { throw error }
        guard let context = LoadContext.current, !context.isRecursing else { fatalError(report.description) }
        run.foundRecursion.store(true, ordering: .releasing)
        let result = await LoadContext.inside(context.run, isRecursing: true) { () async -> Result<Value, E> in
            do throws(E) { return .success(try await load()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

extension Flight {
    /// How the load ended, which has returned: well, unless it had asked for itself on the way. That is told to whoever
    /// watches the cache even where no caller's error type can express it.
    func result(valueCount: Int) -> CacheLoad<Key>.Result {
        run.foundRecursion.load(ordering: .acquiring)
            ? .failed(CacheLoadingError.recursiveLoad(key: "\(key)")) : .loaded(valueCount)
    }
}

extension Loader {
    /// A load is about to start for the caller: gives it a span, where somebody traces.
    func trace(_ flights: [Flight<Key, Value>], of run: LoadRun, _ reason: CacheLoad<Key>.Reason) {
        run.begin(
            LoadSpan.ofLoad(
                name: store.name,
                reason: "\(reason)",
                keyCount: flights.count,
                isBackground: flights[0].isRefresh
            )
        )
    }

    /// A load begins: counts it and answers when that was.
    func beginLoad() -> Int64 {
        counters.started.add(1, ordering: .relaxed)
        return clock.nanoseconds()
    }

    /// A caller has joined the flight of another one: counts it, and passes its priority on.
    func didShare(_ flight: Flight<Key, Value>) {
        counters.coalesced.add(1, ordering: .relaxed)
        flight.run.escalate(to: Task.currentPriority)
        // The load may have become overdue after the caller looked, and before it joined those who were told then.
        if flight.isOverdue { flight.becomeOverdue { store.fallback(forKey: flight.key) } }
    }

    /// A load has ended: counts its time and answers it.
    @discardableResult
    func endLoad(
        _ keys: [Key],
        of run: LoadRun,
        _ reason: CacheLoad<Key>.Reason,
        since began: Int64,
        _ result: CacheLoad<Key>.Result
    ) -> Duration {
        let (difference, overflow) = clock.nanoseconds().subtractingReportingOverflow(began)
        let elapsed = overflow ? .max : max(0, difference)
        counters.addTime(elapsed)
        if case .failed = result { counters.failed.add(1, ordering: .relaxed) }
        run.span?.end(result)
        loadHandler?(CacheLoad(keys: keys, reason: reason, duration: .nanoseconds(elapsed), result: result))
        return .nanoseconds(elapsed)
    }
}
