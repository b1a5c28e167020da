//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// Loads values into a cache's store: owns the flights under way, the failures that are still remembered, lifetimes and
/// counters. The caches are faces over a store and a loader.
@usableFromInline
final class Loader<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    let store: any LoadStore<Key, Value>
    /// What a value costs in bytes where the caller does not say: by the owner's closure, or else as it is measured.
    @usableFromInline let costOfValue: @Sendable (Key, Value) -> Int
    /// Whether the owner has given a closure. Where not, values are measured only under a cost limit.
    @usableFromInline let hasCostClosure: Bool
    /// The lifetime of entries set without one of their own.
    @usableFromInline let lifetimes: LifetimePolicy<Key, Value>
    @usableFromInline let flights = FlightTable<Key, Value>()
    let counters = LoadCounters()
    let clock: LifetimeClock

    /// How long failures are remembered; nil where they are not.
    let failureLifetime: Duration?
    /// Failures by key; a cache of its own, so that neither their number nor their age needs a second machinery.
    @usableFromInline let failures: CacheEngine<Key, any Error>?
    /// How long before the end of its lifetime a value is stale, in nanoseconds; 0 if values do not go stale.
    let staleWindow: Int64
    /// Whether values go stale before their lifetime is over.
    @usableFromInline let hasStaleWindow: Bool
    /// What the owner takes a value to cost to make, given what the load took.
    let recomputeCost: (@Sendable (Key, Value, Duration) -> Double)?

    /// Told of every load.
    let loadHandler: (@Sendable (CacheLoad<Key>) -> Void)?

    /// How long loads may take; nil where they may take any time.
    let timeouts: LoadTimeouts?

    /// Failures remembered at most. Each is an entry of tens of bytes and an error; a thousand keys that fail at once
    /// are an outage of what they are loaded from, where forgetting the oldest costs one more attempt.
    static var failureLimit: Int { 1024 }

    init(
        into store: any LoadStore<Key, Value>,
        options: MemoryCacheOptions<Key, Value>,
        clock: LifetimeClock,
        cost: (@Sendable (Key, Value) -> Int)?
    ) {
        self.store = store
        self.clock = clock
        costOfValue = cost ?? CostMeasure.ofType()
        hasCostClosure = cost != nil
        lifetimes = LifetimePolicy(options: options)
        failureLifetime = options.failureLifetime
        recomputeCost = options.recomputeCost
        loadHandler = options.loadHandler
        timeouts = LoadTimeouts(options)
        failures = options.failureLifetime.map { _ in
            CacheEngine(countLimit: Self.failureLimit, ordering: .reuse, clock: options.clock)
        }
        staleWindow = max(0, options.staleWindow?.saturatedNanoseconds ?? 0)
        hasStaleWindow = staleWindow > 0
    }

    /// Whether a change of a key must be told: something is being loaded, or failures may be remembered.
    ///
    /// Sequentially consistent, because the program has just changed what loads read: either it sees the load that
    /// began, or that load sees the change. On x86 this is a plain load.
    @inlinable
    var isListening: Bool { flights.count.load(ordering: .sequentiallyConsistent) != 0 || failures != nil }

    /// The key is removed or set. Call it *before* the entry changes: see `LoadTicket`.
    @inlinable
    @inline(__always)
    func willChange(_ key: Key) { if isListening { forget(key) } }

    /// Takes back what loads of `key` may store, and forgets how the last one failed.
    @usableFromInline
    func forget(_ key: Key) {
        if flights.count.load(ordering: .acquiring) != 0 { flights.revoke(key) }
        failures?.removeValue(forKey: key)
    }

    /// All keys are removed. Call it before they are.
    @usableFromInline
    func willRemoveAll() {
        flights.revokeAll { _ in true }
        failures?.removeAll()
    }

    /// The keys that `isInvalid` names are removed. Call it before they are.
    func willRemoveAll(where isInvalid: (Key) -> Bool) {
        flights.revokeAll(where: isInvalid)
        failures?.removeAll(where: isInvalid)
    }

    /// How many callers have joined the flight of `key` and still want its result: what tests wait for.
    package func waiterCount(forKey key: Key) -> Int { flights.flight(of: key)?.waiterCount ?? 0 }
}
