//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryCaching
public import Synchronization

/// A near cache in front of a remote tier that several processes share: decoded values in this process's memory, their
/// bytes in Valkey or Redis, and the server's reports to keep the two coherent.
///
/// ```swift
/// let users = TieredCache<Int, User>(name: "users", remote: tier, codec: JSONCodec<User>())
/// let user = try await users.value(forKey: 42) { try await database.user(42) }
/// try await users.removeValue(forKey: 42)     // after a change in the database
/// ```
///
/// **Coherence.** A near value is served only while the server is known to report every change of it. A change by any
/// process is seen by the others as soon as the report arrives; when a connection is cut, after the tier's heartbeat
/// and timeout at most. A process reads its own changes: once ``setValue(_:forKey:expiresAfter:)`` or
/// ``removeValue(forKey:)`` has returned, no lookup in this process answers with the value from before, except as a
/// fallback that the options allow. One that has thrown may not have reached the server: this cache has then forgotten
/// its near value, and lookups answer with what the server has, which may be the value from before.
///
/// **One load.** Callers in one process share one lookup. Between processes, a lease in the remote tier lets one of
/// them make the value while the others wait; if it dies, another one takes over when the lease ends. This is an
/// optimisation and no lock. What a load returns is not stored if the key was changed since the load began.
///
/// **Failures.** A lookup does not throw because the remote tier fails: it asks the origin. Changes throw.
///
/// Keys are written with their description, so equal keys must have equal descriptions. Strings that are equal but
/// composed of other scalars (`é` as one or as two) are not: normalise them first.
///
/// All members may be used from any thread at any time. See `NearMachine` for why the cache is coherent.
public final class TieredCache<Key, Value>: Sendable
where Key: Hashable & Sendable & LosslessStringConvertible, Value: Sendable {
    @usableFromInline let core: NearCore<Key, Value>
    /// That of the core; here, so that a hit goes by one reference less.
    @usableFromInline let link: NearLink
    private let subscriber: NearSubscriber<Key, Value>

    /// Makes a cache in front of `remote`.
    ///
    /// - Parameters:
    ///   - name: the first part of every key in the remote tier, and a name for people. Caches of one name share
    ///     values, in all processes.
    ///   - remote: the remote tier.
    ///   - codec: converts values to what the remote tier stores.
    ///   - countLimit: near entries at most; 0 or less is no limit.
    ///   - totalCostLimit: sum of the near entries' costs at most; 0 or less is no limit.
    ///   - options: lifetimes, timeouts and what to do when the remote tier fails.
    ///   - cost: what a near value costs in bytes; the number of its encoded bytes by default.
    @inlinable
    public convenience init(
        name: String,
        remote: any RemoteTier,
        codec: some CacheCodec<Value>,
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        options: TieredCacheOptions = .init(),
        cost: (@Sendable (Key, Value) -> Int)? = nil
    ) {
        let code = NearCode<Key, Value>(
            insert: { near, entry, key, cost, effort, ticket in
                near.engine.setValue(entry, forKey: key, cost: cost, recomputeCost: effort, ticket: ticket)
            },
            pack: { Packed($0) },
            unpack: Packed<Value>.unpacking()
        )
        self.init(name, remote, codec, countLimit, totalCostLimit, options, cost, code)
    }

    @usableFromInline
    init(
        _ name: String,
        _ remote: any RemoteTier,
        _ codec: any CacheCodec<Value>,
        _ countLimit: Int,
        _ totalCostLimit: Int,
        _ options: TieredCacheOptions,
        _ cost: (@Sendable (Key, Value) -> Int)?,
        _ code: NearCode<Key, Value>
    ) {
        precondition(!name.isEmpty, "A tiered cache needs a name: it is a part of its keys in the remote tier.")
        let near = MemoryCache<Key, NearEntry<Value>>(
            name: name,
            countLimit: countLimit,
            totalCostLimit: totalCostLimit,
            options: MemoryCacheOptions(
                evictsUnderMemoryPressure: options.evictsUnderMemoryPressure,
                pressureMonitor: options.pressureMonitor
            )
        )
        link = NearLink(
            name: name,
            tier: remote,
            keyspace: Keyspace(name: name, version: options.codecVersion),
            options: options
        )
        core = NearCore(near: near, link: link, codec: codec, cost: cost, code: code)
        subscriber = NearSubscriber(core)
        remote.subscribe(subscriber)
    }

    // MARK: Lookups

    /// The value for `key` if it is near and known to be current; nil otherwise. Asks neither the server nor the
    /// origin.
    ///
    /// - Complexity: O(1) on average; allocates nothing.
    @inlinable
    public func nearValue(forKey key: Key) -> Value? {
        guard let entry = core.near.value(forKey: key) else { return nil }
        if entry.stamp.isServed(under: link.word.load(ordering: .acquiring)) { return entry.value }
        noteUnserved()
        return nil
    }

    /// The value for `key`: from near, from the remote tier, or else from `load`.
    ///
    /// A near hit does not suspend. Otherwise the callers in this process share one lookup; see ``TieredCache`` for
    /// what processes share. A cancelled caller leaves at once with a `CancellationError`, and the load is cancelled
    /// when the last one has left.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - load: makes the value. It may outlive the call. It must not ask this cache for the same key.
    /// - Returns: the value.
    /// - Throws: what `load` throws, and `CancellationError`.
    @inlinable
    public nonisolated(nonsending) func value(
        forKey key: Key,
        load: @autoclosure () -> @Sendable () async throws -> Value
    ) async throws -> Value {
        if let value = nearValue(forKey: key) { return value }
        return try await missingValue(forKey: key, load())
    }

    /// The value for `key`, from near or from the remote tier; nil if neither has it.
    ///
    /// Each caller asks the remote tier itself; callers that may load share one lookup.
    ///
    /// - Throws: ``RemoteTierError`` if the remote tier cannot answer, or is not asked because it fails repeatedly.
    @inlinable
    public nonisolated(nonsending) func value(forKey key: Key) async throws -> Value? {
        if let value = nearValue(forKey: key) { return value }
        return try await readValue(forKey: key)
    }

    @usableFromInline
    nonisolated(nonsending) func readValue(forKey key: Key) async throws -> Value? {
        if link.servesDisconnected, let value = core.disconnectedValue(forKey: key) { return value }
        let course = course(TierFlight(isShared: false), key, key.description) { throw NothingToLoad() }
        return try await course.readOnly().map(core.code.unpack)
    }

    private func course(
        _ flight: TierFlight,
        _ key: Key,
        _ name: String,
        _ load: @escaping @Sendable () async throws -> Value
    ) -> MissCourse {
        let subject = TypedSubject(core, key, name, load)
        return MissCourse(link: link, subject: subject, flight: flight, name: name)
    }

    @usableFromInline
    nonisolated(nonsending) func missingValue(
        forKey key: Key,
        _ load: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        if link.servesDisconnected, let value = core.disconnectedValue(forKey: key) { return value }
        let name = key.description
        let flight: TierFlight
        let waiter: TierFlight.Waiter
        let isNew: Bool
        (flight, waiter, isNew) = link.board(name)
        if isNew {
            // Another flight may have landed between the miss and the boarding.
            if let value = nearValue(forKey: key) {
                link.landed(flight, forKey: name)
                flight.land(.value(core.code.pack(value)))
                return value
            }
            let course = course(flight, key, name, load)
            flight.start(LoadSpan.ofLoad(name: link.name, reason: "miss", keyCount: 1, isBackground: false)) {
                await course.run()
            }
        }
        let wait = isNew ? nil : LoadSpan.ofWait(name: link.name, keyCount: 1)
        let outcome = await flight.outcome(for: waiter)
        if let wait {
            if let load = flight.span { wait.link(to: load) }
            if case .left = outcome { wait.end(CancellationError()) } else { wait.end(outcome.error) }
        }
        switch outcome {
        case .value(let parcel): return core.code.unpack(parcel)
        case .failure(let error): throw error
        case .left: throw CancellationError()
        }
    }

    @usableFromInline
    func noteUnserved() { link.counters.unservedHits.count() }

    // MARK: Changes

    /// Stores `value` in the remote tier; near caches of all processes forget what they had.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: its key.
    ///   - lifetime: how long it stays fresh; nil for ``TieredCacheOptions/lifetime``.
    /// - Throws: what the codec throws, or ``RemoteTierError``. After ``RemoteTierError/timedOut`` and
    ///   ``RemoteTierError/disconnected`` it is unknown whether the remote tier has the new value; after any other
    ///   error it has what it had before. This cache has forgotten its near value in any case.
    public nonisolated(nonsending) func setValue(
        _ value: Value,
        forKey key: Key,
        expiresAfter lifetime: Duration? = nil
    ) async throws {
        // Before the codec, which may throw.
        core.drop(key.description, key)
        let bytes = try core.codec.encode(value)
        guard bytes.count <= link.options.largestValue else { throw RemoteTierError.tooLarge(bytes.count) }
        let options = link.options
        try await core.change(key, "cache.remote.write", retries: 0) { [link] remoteKey, limit in
            try await link.tier.write(
                remoteKey,
                bytes,
                lifetime: options.freshFor(lifetime) + options.keptFor,
                within: limit
            )
        }
    }

    /// Removes the value for `key` from all tiers, and revokes every load of it that is under way in any process.
    ///
    /// - Throws: ``RemoteTierError`` if the remote tier has not confirmed it after up to three attempts within
    ///   ``TieredCacheOptions/changeTimeout``.
    public nonisolated(nonsending) func removeValue(forKey key: Key) async throws {
        try await core.change(key, "cache.remote.remove", retries: 2) { [link] remoteKey, limit in
            try await link.tier.remove(remoteKey, within: limit)
        }
    }

    /// Forgets all values of this cache's name and codec version, in all tiers and processes, at once. The bytes in the
    /// remote tier stay until their lifetimes are over, but no process finds them.
    ///
    /// - Throws: ``RemoteTierError``. This cache has forgotten its near values in any case.
    /// - Complexity: O(1).
    public nonisolated(nonsending) func removeAll() async throws { try await core.clear() }

    // MARK: State

    /// What the cache has done so far, by tier.
    public var statistics: TieredCacheStatistics { link.counters.snapshot(near: core.near.statistics) }

    /// Whether the near cache is connected and serves values.
    public var isCoherent: Bool { link.word.load(ordering: .acquiring) != NearStamp.servesNothing }
}

/// Marks the load of a lookup that has none.
struct NothingToLoad: Error {}
