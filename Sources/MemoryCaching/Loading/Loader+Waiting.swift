//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

// Waiting for a load, one's own or that of somebody else.
extension Loader {
    /// A caller has joined the flight of another one: counts it, and passes its priority on.
    func didShare(_ flight: Flight<Key, Value>) {
        counters.coalesced.add(1, ordering: .relaxed)
        flight.run.escalate(to: Task.currentPriority)
        // The load may have become overdue after the caller looked, and before it joined those who were told then.
        if flight.isOverdue { flight.becomeOverdue { store.fallback(forKey: flight.key) } }
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
