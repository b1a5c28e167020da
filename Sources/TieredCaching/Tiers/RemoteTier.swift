//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A store outside the process that several near caches share: what a ``TieredCache`` needs of Valkey, Redis or a
/// stand-in for tests.
///
/// **Tracking.** A tier remembers which keys it has handed out through ``read(_:within:)``,
/// ``acquire(_:_:within:)`` and ``fill(_:with:lifetime:lease:within:)``, and reports to its subscribers when one of
/// them changes, expires or is evicted. It does not report what its own leases and fills do. What its own writes and
/// removals do it reports to all its subscribers before the operation returns. Events come one after the other. A
/// report and an answer of one connection come in the order in which the server sent them, and a tier must report
/// before it hands out any answer that came later.
///
/// **Failures.** Every operation throws a ``RemoteTierError``. One that has timed out may still take effect.
/// Cancelling the calling task does not stop an operation that has been sent.
public protocol RemoteTier: AnyObject, Sendable {
    /// Reports every event to `subscriber` from now on. If the tier is connected, the first one is
    /// ``RemoteTierEvent/connected(aliveFor:)``. Keeps no strong reference.
    func subscribe(_ subscriber: any RemoteTierSubscriber)

    /// The value of `key`, or nil if there is none or a lease stands in its place.
    func read(_ key: String, within limit: Duration) async throws -> RemoteValue?

    /// The value of `key` if it is fresh; else the permission to make it, or the news that another one has it.
    func acquire(_ key: String, _ terms: LeaseTerms, within limit: Duration) async throws -> LeaseAnswer

    /// Stores `bytes` if the lease still stands: no write, removal or expiry has taken it away.
    ///
    /// - Returns: whether they were stored. If so, the key is tracked.
    func fill(
        _ key: String,
        with bytes: [UInt8],
        lifetime: Duration,
        lease: LeaseToken,
        within limit: Duration
    ) async throws -> Bool

    /// Gives a lease back without a value. What was stored before the lease is there again.
    func release(_ key: String, lease: LeaseToken, within limit: Duration) async throws

    /// Stores `bytes`, whatever is there, and ends any lease on the key.
    func write(_ key: String, _ bytes: [UInt8], lifetime: Duration, within limit: Duration) async throws

    /// Removes the value, and ends any lease on the key.
    func remove(_ key: String, within limit: Duration) async throws
}

/// Bytes from a remote tier, and how long they stay there.
public struct RemoteValue: Sendable, Hashable {
    /// The encoded value.
    public var bytes: [UInt8]
    /// The lifetime that is left, as of the moment when the server looked. Nil if the value never expires.
    public var remaining: Duration?

    /// A value with what is left of its lifetime.
    public init(bytes: [UInt8], remaining: Duration?) {
        self.bytes = bytes
        self.remaining = remaining
    }
}

/// The name of one lease, drawn at random: 128 bits, so that no two are alike.
public struct LeaseToken: Sendable, Hashable {
    /// The two halves of the name.
    public let high, low: UInt64

    /// A new name.
    public init() { (high, low) = (.random(in: .min ... .max), .random(in: .min ... .max)) }

    /// A given name.
    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}

/// What a caller asks for when it wants to make a value.
public struct LeaseTerms: Sendable {
    /// The lease to set if there is no fresh value.
    public var token: LeaseToken
    /// How long the lease stands.
    public var duration: Duration
    /// A value with no more than this left of its lifetime is stale: it is handed out beside the lease.
    public var staleBelow: Duration
    /// Bytes that are no value: if these are what is stored, the lease replaces them.
    public var unusable: [UInt8]?

    /// Terms of one lease.
    public init(token: LeaseToken, duration: Duration, staleBelow: Duration = .zero, unusable: [UInt8]? = nil) {
        self.token = token
        self.duration = duration
        self.staleBelow = staleBelow
        self.unusable = unusable
    }
}

/// What ``RemoteTier/acquire(_:_:within:)`` found.
public enum LeaseAnswer: Sendable, Hashable {
    /// A fresh value.
    case found(RemoteValue)
    /// The caller holds the lease now; `stale` is the value that is no longer fresh.
    case granted(stale: [UInt8]?)
    /// Another caller holds the lease for at most `remaining`.
    case held(remaining: Duration, stale: [UInt8]?)
    /// There is no room for a lease, and would be none for a value.
    case full
}

/// Receives a tier's events: a near cache.
public protocol RemoteTierSubscriber: AnyObject, Sendable {
    /// Applies `event`. Called by one thread at a time, in order; returns quickly.
    func receive(_ event: RemoteTierEvent)
}

/// What happens to a remote tier.
public enum RemoteTierEvent: Sendable, Hashable {
    /// A connection is up and tracks keys; nothing that was read before is known to be current. It is known to live
    /// for the given time from now on.
    case connected(aliveFor: Duration)
    /// The connection has proved that nothing is missing, and is known to live for the given time from now on.
    case alive(for: Duration)
    /// Time has passed. Comes at least every 20 ms while connected.
    case tick
    /// These keys have changed.
    case invalidated([String])
    /// All keys have changed.
    case flushed
    /// There is no connection, or an attempt to make one has failed.
    case lost
}

/// Why an operation of a remote tier failed.
public enum RemoteTierError: Error, Sendable, Hashable {
    /// There is no connection, or it was lost before the answer came; or a lookup has not asked, because the remote
    /// tier has failed repeatedly.
    case disconnected
    /// No answer came in time.
    case timedOut
    /// The server has no memory left for a value.
    case full
    /// The value, or its key, is larger than the tier or the server accepts, in bytes.
    case tooLarge(Int)
    /// The server refused, in its own words.
    case refused(String)
}

extension RemoteTierError: CustomStringConvertible {
    /// What went wrong, in a sentence.
    public var description: String {
        switch self {
        case .disconnected: "The remote tier is not connected."
        case .timedOut: "The remote tier did not answer in time."
        case .full: "The remote tier has no memory left."
        case .tooLarge(let bytes): "The remote tier does not accept a key or a value of \(bytes) bytes."
        case .refused(let words): "The remote tier refused: \(words)"
        }
    }
}
