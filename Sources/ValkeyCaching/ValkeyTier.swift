//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Synchronization
public import TieredCaching

#if ServiceLifecycleSupport
public import ServiceLifecycle
#endif

/// A Valkey or Redis server as the remote tier of near caches: one connection, which the server reports changes to.
///
/// ```swift
/// let tier = ValkeyTier(ValkeyConfiguration(host: "cache.internal", password: secret))
/// let users = TieredCache<Int, User>(name: "users", remote: tier, codec: JSONCodec<User>())
/// ```
///
/// One tier serves any number of caches. It connects when the first cache is made or ``start()`` is called, and keeps
/// connecting until ``shutDown()``, or until the tier and its caches are gone. Nothing is thrown while the server
/// cannot be reached: lookups ask the origin. Use ``waitUntilConnected(within:)`` where a program is to fail at its
/// start instead.
///
/// The server must be a single primary, Redis 7.0 or later or Valkey, with `CLIENT TRACKING` and scripts. A node of a
/// cluster is refused.
///
/// Everything that the server reports is applied by the connection's own thread, in the order of the bytes.
public final class ValkeyTier: RemoteTier {
    let configuration: ValkeyConfiguration
    let transport: any ValkeyTransport
    /// The largest value that fits into a reply, as commands say it.
    let largestValueWord: [UInt8]
    let state = Mutex(State())
    /// The key that a script of this tier has just written: the report that follows its reply is about that write.
    /// Anything else that comes first ends the expectation. Apart from the state, because only the serial context uses
    /// it, with each reply.
    let ownReport = Mutex<String?>(nil)
    /// Wakes those who wait for the connection: it is up, or an attempt has failed.
    let linkChange = ChangeSignal()

    struct State {
        var subscribers: [Subscriber] = []
        /// Those that have not been told yet whether there is a connection.
        var arriving: [Subscriber] = []
        var phase = Phase.idle
        /// Counts connections, so that news of an earlier one is not taken for news of this one.
        var number = 0
        /// Attempts and connections in a row that have come to nothing: none has lived for a heartbeat.
        var failures = 0
        /// The instant until which the connection is known to live.
        var aliveUntil = ContinuousClock.now
        var issue: ValkeyIssue?
        var scripts = Scripts()
        /// The end of the tier, once it was shut down.
        var ending: Task<Void, Never>?
    }

    enum Phase {
        case idle, waiting, connecting, stopped
        case greeting(any ValkeyConnection)
        case connected(any ValkeyConnection)
    }

    struct Subscriber {
        weak var object: (any RemoteTierSubscriber)?
    }

    /// The names by which the server knows the scripts.
    struct Scripts {
        var acquire: [UInt8] = [], fill: [UInt8] = [], release: [UInt8] = []
    }

    /// A tier that is not connected yet.
    ///
    /// - Parameter configuration: where the server is and how long to wait for it.
    public convenience init(_ configuration: ValkeyConfiguration) {
        self.init(configuration, transport: NIOTransport(configuration))
    }

    /// A tier over a transport of the program's own. Host, port and TLS are the transport's business then.
    public init(_ configuration: ValkeyConfiguration, transport: any ValkeyTransport) {
        self.configuration = configuration
        self.transport = transport
        largestValueWord = "\(configuration.largestValue)".bytes
    }

    /// Closes the connection and ends the thread, where nobody has called ``shutDown()``. Does not wait for that.
    deinit {
        let (phase, connection) = state.withLock { ($0.phase, $0.anyConnection) }
        if case .stopped = phase { return }
        connection?.close()
        // The last reference may have gone on the transport's own thread, which cannot wait for its end.
        Task { [transport] in await transport.shutDown() }
    }

    // MARK: Life

    /// Begins to connect, unless that was done before.
    public func start() {
        let isFirst = state.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .waiting
            return true
        }
        if isFirst { transport.schedule(after: .zero) { self.connect() } }
    }

    /// Returns when the connection is up and tracks keys.
    ///
    /// - Throws: the ``ValkeyIssue`` that stands in the way: at once if the server has refused the tier, and after
    ///   `limit` otherwise.
    public nonisolated(nonsending) func waitUntilConnected(within limit: Duration = .seconds(5)) async throws {
        start()
        let outcome = await linkChange.first(within: limit) { state.withLock { $0.outcomeOfConnecting } }
        guard let outcome else {
            try Task.checkCancellation()
            throw issue ?? .unreachable("no answer")
        }
        try outcome.get()
    }

    /// Why the tier is not connected; nil while it is, and before the first attempt has ended.
    public var issue: ValkeyIssue? { state.withLock { $0.connection == nil ? $0.issue : nil } }

    /// Closes the connection for good and waits until the tier's thread has ended. Operations fail from now on.
    public func shutDown() async {
        let ending = state.withLock { state in
            if let ending = state.ending { return ending }
            let connection = state.anyConnection
            state.phase = .stopped
            // One for all who call: what it tells comes on one thread at a time.
            let ending = Task { await self.end(connection) }
            state.ending = ending
            return ending
        }
        await ending.value
    }

    private func end(_ connection: (any ValkeyConnection)?) async {
        linkChange.signal()
        // Behind what is being told there now.
        transport.schedule(after: .zero) { self.publish(.lost) }
        connection?.close()
        await transport.shutDown()
        // Nothing is told there any more: neither that, perhaps, nor what was to be told to those who have just come.
        publish(.lost)
    }

    /// Connects, and runs until the task is cancelled or, in a service group, the group shuts down.
    public func run() async {
        start()
        let untilCancelled = { @Sendable in
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        }
        #if ServiceLifecycleSupport
        await cancelWhenGracefulShutdown { await untilCancelled() }
        #else
        await untilCancelled()
        #endif
        await shutDown()
    }

    // MARK: Events

    /// Reports every event to `subscriber`, and begins to connect.
    public func subscribe(_ subscriber: any RemoteTierSubscriber) {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.arriving.append(Subscriber(object: subscriber)) }
            return state.isStopped
        }
        // Nothing can be scheduled any more.
        if isStopped { return subscriber.receive(.lost) }
        transport.schedule(after: .zero) { self.welcome() }
        start()
    }

    /// Tells those who have come what has been told to the others, on the transport's serial context.
    private func welcome() {
        // Outside the lock: whoever looks may be the last to let go of a cache, and of values of the user's. Nobody
        // else changes the list.
        let known = state.withLock { $0.subscribers }.filter { $0.object != nil }
        let (arrived, event) = state.withLock { state -> ([Subscriber], RemoteTierEvent?) in
            // Then ``shutDown()`` tells them.
            if state.isStopped { return ([], nil) }
            defer { state.arriving = [] }
            state.subscribers = known + state.arriving
            if state.connection == nil { return (state.arriving, state.issue == nil ? nil : .lost) }
            return (state.arriving, .connected(aliveFor: ContinuousClock.now.duration(to: state.aliveUntil)))
        }
        guard let event else { return }
        for subscriber in arrived { subscriber.object?.receive(event) }
    }

    /// Tells all subscribers, on the transport's serial context or when that has ended.
    func publish(_ event: RemoteTierEvent) {
        let subscribers = state.withLock { $0.isStopped ? $0.subscribers + $0.arriving : $0.subscribers }
        for subscriber in subscribers { subscriber.object?.receive(event) }
    }

    func receivePush(_ items: [RESPValue]) {
        guard items.first?.text == "invalidate", items.count == 2 else { return }
        let ownReport = ownReport.withLock { $0.take() }
        if case .array(let keys) = items[1] {
            // Byte by byte: two keys may be equal as texts.
            if keys.count == 1, let ownReport, keys[0].text?.utf8.elementsEqual(ownReport.utf8) ?? false { return }
            publish(.invalidated(keys.compactMap(\.text)))
        } else {
            publish(.flushed)
        }
    }
}

#if ServiceLifecycleSupport
extension ValkeyTier: Service {}
#endif

extension ValkeyTier.State {
    /// The connection, if it is greeted and tracks.
    var connection: (any ValkeyConnection)? {
        if case .connected(let connection) = phase { connection } else { nil }
    }

    /// Whether the tier was shut down.
    var isStopped: Bool { if case .stopped = phase { true } else { false } }

    /// How the attempts to connect have ended; nil while another one may end better.
    var outcomeOfConnecting: Result<Void, ValkeyIssue>? {
        if connection != nil { return .success(()) }
        if isStopped { return .failure(.unreachable("the tier was shut down")) }
        switch issue {
        case nil, .unreachable: return nil
        case .some(let issue): return .failure(issue)
        }
    }

    /// The connection, whatever its phase.
    var anyConnection: (any ValkeyConnection)? {
        switch phase {
        case .greeting(let connection), .connected(let connection): connection
        case .idle, .waiting, .connecting, .stopped: nil
        }
    }
}
#endif
