//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

// The course of a load: making it in its task, storing what it returns, and telling those who wait. What one load and
// bulk loads have in common.
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

    /// Stores what was loaded unless the key has changed meanwhile; answers what to tell the waiters.
    func deliver(_ value: Value, to flight: Flight<Key, Value>, after duration: Duration) -> FlightOutcome<Value> {
        if flight.run.foundRecursion.load(ordering: .acquiring) {
            // It has failed, and nothing is stored.
            didFindNothing(for: flight)
            return .recursive(value)
        }
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

    /// Hands what was loaded too late to those who could not be told so; the cache does not get it.
    func landLate(_ flight: Flight<Key, Value>, _ value: Value?) {
        let isRecursive = flight.run.foundRecursion.load(ordering: .acquiring)
        flights.land(flight, value.map { isRecursive ? .recursive($0) : .value($0) } ?? .absent)
    }

    /// The load of a flight has failed: where it was a refresh, the stale window has had its one.
    func didFail(_ flight: Flight<Key, Value>, _ error: any Error) {
        if flight.isRefresh { didFindNothing(for: flight) } else { remember(error, of: flight) }
    }

    /// A bulk load had no value for the flight's key: a refresh that finds nothing is not repeated either.
    func didFindNothing(for flight: Flight<Key, Value>) {
        guard case .stale(let deadline) = flight.ticket.target else { return }
        store.noteFailedRefresh(of: flight.key, deadline: deadline)
    }

    /// The load of a flight has failed that was no refresh: remembers the error where the options say so. What says
    /// something about the caller rather than about the key is not remembered.
    func remember(_ error: any Error, of flight: Flight<Key, Value>) {
        guard let failures, !(error is CancellationError), !(error is CacheLoadingError) else { return }
        // A change revokes first and forgets then, under the lock that the ticket is asked under.
        _ = failures.insert(
            error,
            forKey: flight.key,
            cost: 0,
            recomputeCost: nil,
            expiresAfter: failureLifetime,
            if: .unrevoked(flight.ticket)
        )
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
