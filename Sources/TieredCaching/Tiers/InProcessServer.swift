//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure
import Synchronization

/// A server inside the process, for tests of code that uses a ``TieredCache``: each ``InProcessTier`` that it makes is
/// what a connection of another process would be.
///
/// ```swift
/// let server = InProcessServer()
/// let here = TieredCache(name: "users", remote: server.makeTier(), codec: .string) as TieredCache<Int, String>
/// let there = TieredCache(name: "users", remote: server.makeTier(), codec: .string) as TieredCache<Int, String>
/// ```
///
/// Lifetimes and leases in the server pass when ``advance(by:)`` is called, and not by themselves. Those of near values
/// pass with the clock of the cache, ``TieredCacheOptions/clock``, which a test has to move first.
///
/// A lease is given back when a load fails, or its value cannot be stored. Where that fails too, as while
/// ``InProcessTier/fail(with:)`` has operations fail, the lease stands until its key is changed or ``advance(by:)`` has
/// passed ``TieredCacheOptions/leaseTime``, and lookups of its key wait for that.
public final class InProcessServer: Sendable {
    private struct State {
        var store = TierStore()
        var now: Int64 = 0
        var tiers: [InProcessTier] = []
    }

    private let state = Mutex(State())

    /// A server without values.
    public init() {}

    /// A connected tier of this server.
    public func makeTier() -> InProcessTier {
        state.withLock { state in
            let tier = InProcessTier(server: self, client: state.tiers.count)
            state.tiers.append(tier)
            return tier
        }
    }

    /// Lets time pass for lifetimes and leases, and has near caches look at their clocks.
    public func advance(by duration: Duration) {
        perform { store, now in
            now += duration.milliseconds
            return ((), store.advance(to: now))
        }
        let tiers = state.withLock { $0.tiers }
        for tier in tiers { tier.report(.tick) }
    }

    /// Removes everything, and tells all tiers.
    public func flush() {
        let tiers = state.withLock { state in
            state.store.removeAll()
            for tier in state.tiers { tier.enqueue(.flushed) }
            return state.tiers
        }
        for tier in tiers { tier.deliver() }
    }

    /// Does something to the store and sends the reports.
    func perform<R>(_ body: (inout TierStore, inout Int64) -> (R, [TierStore.Report])) -> R {
        let (result, told) = state.withLock { state in
            let (result, reports) = body(&state.store, &state.now)
            for report in reports { state.tiers[report.client].enqueue(.invalidated([report.key])) }
            return (result, reports.map { state.tiers[$0.client] })
        }
        for tier in told { tier.deliver() }
        return result
    }
}

/// What a connection to an ``InProcessServer`` is: a remote tier for tests, which can be cut and can fall silent.
public final class InProcessTier: RemoteTier {
    private let server: InProcessServer
    private let client: Int
    private let state = Mutex(State())
    /// How many events have been delivered.
    private let delivered = CompletionCounter()

    private struct State {
        var isConnected = true
        var failure: RemoteTierError?
        /// Events that wait for their delivery, each with those who were subscribed when it happened.
        var events: [(event: RemoteTierEvent, subscribers: [Subscriber])] = []
        /// How many events there have been.
        var eventCount = 0
        /// The number of the thread that delivers events.
        var deliverer: UInt?
        var subscribers: [Subscriber] = []
        var operations = 0
        /// By itself the connection never falls silent.
        var aliveFor = Duration.seconds(1 << 30)

        /// Something happens, for `receivers` or for all subscribers of this moment.
        mutating func append(_ event: RemoteTierEvent, to receivers: [Subscriber]? = nil) {
            events.append((event, receivers ?? subscribers))
            eventCount += 1
        }
    }

    private struct Subscriber {
        weak var object: (any RemoteTierSubscriber)?
    }

    init(server: InProcessServer, client: Int) {
        self.server = server
        self.client = client
    }

    // MARK: Faults

    /// How many operations have been asked of this tier, failed ones among them.
    public var operationCount: Int { state.withLock { $0.operations } }

    /// Lets every operation from now on throw `error`; nil ends that. Nothing reaches the server meanwhile.
    public func fail(with error: RemoteTierError?) { state.withLock { $0.failure = error } }

    /// Cuts the connection.
    public func disconnect() {
        state.withLock { state in
            state.isConnected = false
            state.append(.lost)
        }
        server.perform { store, _ in (store.forget(client), []) }
        deliver()
    }

    /// Connects anew.
    public func connect() {
        state.withLock { state in
            state.isConnected = true
            state.append(.connected(aliveFor: state.aliveFor))
        }
        deliver()
    }

    /// Whether it is connected.
    public var isUp: Bool { state.withLock { $0.isConnected } }

    /// For how long a connection is taken to live without further proof, from the next ``connect()`` or cache on.
    public func setAliveFor(_ duration: Duration) { state.withLock { $0.aliveFor = duration } }

    /// Reports an event as the server would, for tests of what it leads to.
    public func report(_ event: RemoteTierEvent) {
        enqueue(event)
        deliver()
    }

    // MARK: Events

    /// Reports every event to `subscriber` from now on.
    public func subscribe(_ subscriber: any RemoteTierSubscriber) {
        let subscriber = Subscriber(object: subscriber)
        state.withLock { state in
            state.subscribers.append(subscriber)
            state.append(state.isConnected ? .connected(aliveFor: state.aliveFor) : .lost, to: [subscriber])
        }
        deliver()
    }

    func enqueue(_ event: RemoteTierEvent) {
        state.withLock { if $0.isConnected { $0.append(event) } }
    }

    /// Returns when all events from before the call are delivered: by this thread, or by another one that delivers
    /// already. Subscribers are called under no lock, and one that causes an event receives it after the present one.
    func deliver() {
        let thread = Platform.currentThreadNumber
        let (deliverer, last) = state.withLock { state in
            defer { state.deliverer = state.deliverer ?? thread }
            return (state.deliverer, state.eventCount)
        }
        switch deliverer {
        case nil:
            while let (event, subscribers) = nextEvent() {
                for subscriber in subscribers { subscriber.object?.receive(event) }
                delivered.advance()
            }
        case thread: break
        default: delivered.wait(past: last - 1, nanoseconds: .max)
        }
    }

    /// The event to deliver next. Where there is none, the delivery is over.
    private func nextEvent() -> (RemoteTierEvent, [Subscriber])? {
        state.withLock { state in
            if state.events.isEmpty { state.deliverer = nil }
            return state.events.isEmpty ? nil : state.events.removeFirst()
        }
    }

    // MARK: Operations

    private func perform<R>(_ body: (inout TierStore) -> (R, [TierStore.Report])) throws -> R {
        try state.withLock { state in
            state.operations += 1
            if let failure = state.failure { throw failure }
            if !state.isConnected { throw RemoteTierError.disconnected }
        }
        let result = server.perform { store, _ in body(&store) }
        // What was reported to this tier before the answer is applied before it is handed out.
        deliver()
        return result
    }

    /// The value of `key`; nil if there is none or a lease stands in its place.
    public func read(_ key: String, within limit: Duration) async throws -> RemoteValue? {
        try perform { ($0.read(key, by: client), []) }
    }

    /// The value if it is fresh, else the lease or the news that another one has it.
    public func acquire(_ key: String, _ terms: LeaseTerms, within limit: Duration) async throws -> LeaseAnswer {
        try perform { $0.acquire(key, terms, by: client) }
    }

    /// Stores `bytes` if the lease still stands; whether it does.
    public func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool {
        try perform { $0.fill(key, with: bytes, lifetime: lifetime, lease: lease, by: client) }
    }

    /// Gives a lease back without a value.
    public func release(_ key: String, lease: LeaseToken, within limit: Duration) async throws {
        try perform { ((), $0.release(key, lease: lease, by: client)) }
    }

    /// Stores `bytes`, whatever is there.
    public func write(_ key: String, _ bytes: [UInt8], lifetime: Duration, within limit: Duration) async throws {
        try perform { ((), $0.write(key, bytes, lifetime: lifetime, by: nil)) }
    }

    /// Removes the value and ends any lease.
    public func remove(_ key: String, within limit: Duration) async throws {
        try perform { ((), $0.remove(key, by: nil)) }
    }
}
