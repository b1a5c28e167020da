//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

extension Loader {
    /// The value for a key that was not there a moment ago; or, where `isForced`, one that is loaded in any case.
    @usableFromInline
    nonisolated(nonsending) func loadedValue<E: Error>(
        forKey key: Key,
        isForced: Bool = false,
        _ load: @escaping @Sendable () async throws(E) -> Value
    ) async throws(E) -> Value {
        let cancellation = CancellationError() as? E
        let terms = WaiterTerms(E.self, takesFallback: !isForced)
        var isAgain = false
        while true {
            if !isForced, let end = knownEnd(of: key, as: E.self) { return try end.get() }
            if let cancellation, Task.isCancelled { throw cancellation }
            let flight: Flight<Key, Value>
            let end: FlightOutcome<Value>?
            switch flights.board(
                key,
                for: isForced ? .any : .absent,
                terms,
                throwing: E.self,
                isAgain: isAgain,
                makeRun: { LoadRun(priority: Task.currentPriority) }
            ) {
            case .joined(let shared, let waiter):
                flight = shared
                didShare(flight)
                end = await sharedOutcome(of: flight, for: waiter)
            case .leads(let new, let waiter):
                flight = new
                // Another load may have landed between the miss and the boarding, or failed. This call has counted its
                // lookup.
                if !isForced, let value = store.peekValue(forKey: key) {
                    flights.landUnloaded(flight, .present(value))
                    return value
                }
                if !isForced, let end = knownEnd(of: key, as: E.self) {
                    flights.landUnloaded(flight, .absent)
                    return try end.get()
                }
                end = await outcome(of: flight, for: waiter) {
                    start(flight, reason: isForced ? .refresh : .miss, load)
                }
            }
            guard let outcome = end else {
                return try await recursiveValue(forKey: key, in: flight.run, load)
            }
            switch outcome {
            case .value(let value): return value
            case .fallback(let value): return didFallBack(to: value)
            case .recursive(let value):
                if let error = CacheLoadingError.recursiveLoad(key: "\(key)") as? E { throw error }
                return value
            case .failure(let error):
                if !isForced, let value = store.fallback(forKey: key) { return didFallBack(to: value) }
                if let error = error as? E { throw error }
            case .left:
                if let cancellation { throw cancellation }
            case .present(let value):
                if !isForced { return value }
            case .absent: break
            }
            // The load of somebody else ended in a way that this caller cannot be told of: it loads for itself.
            isAgain = true
        }
    }

    /// How a load of `key` is known to end for now: with a fallback, or with an error that `E` can express.
    func knownEnd<E: Error>(of key: Key, as: E.Type) -> Result<Value, E>? {
        if let failures, let failure = failures.value(forKey: key) {
            if let value = store.fallback(forKey: key) { return .success(didFallBack(to: value)) }
            if let failure = failure as? E { return .failure(failure) }
        }
        if timeouts?.soft != nil, flights.flight(of: key)?.isOverdue == true, let value = store.fallback(forKey: key) {
            return .success(didFallBack(to: value))
        }
        return nil
    }

    /// A caller is answered with a fallback: counts it.
    func didFallBack(to value: Value) -> Value {
        counters.fallbacks.add(1, ordering: .relaxed)
        return value
    }
}
