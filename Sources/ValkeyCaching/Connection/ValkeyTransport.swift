//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
public import TieredCaching

/// Makes connections to a server: what a ``ValkeyTier`` stands on. The one of this library is on SwiftNIO; a program
/// that has another client may bring its own.
///
/// **Order.** All that a transport calls (completions, pushes, closings, scheduled work) it calls one after the other
/// on one serial context, replies and pushes in the order in which the server sent them. Coherence rests on this: a
/// transport that passes pushes through a queue of their own, or through the cooperative thread pool, delivers values
/// that are stale for as long as that queue stands still.
public protocol ValkeyTransport: AnyObject, Sendable {
    /// Opens a connection, without any greeting.
    ///
    /// - Parameters:
    ///   - push: called with every push.
    ///   - closed: called once when the connection has closed, with the reason if there is one, before the commands
    ///     that have no answer fail.
    ///   - completion: called once, with the connection or the reason why there is none.
    func connect(
        push: @escaping @Sendable ([RESPValue]) -> Void,
        closed: @escaping @Sendable (_ reason: String?) -> Void,
        completion: @escaping @Sendable (Result<any ValkeyConnection, ValkeyIssue>) -> Void
    )

    /// Calls `body` on the serial context after `delay`.
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void)

    /// Releases threads and sockets; nothing is called afterwards.
    func shutDown() async
}

/// A connection that takes commands in a pipeline.
public protocol ValkeyConnection: AnyObject, Sendable {
    /// Sends commands in one piece and completes with a reply for each. May be called on any thread.
    ///
    /// After `limit` it completes with `RemoteTierError.timedOut`; the replies are dropped when they come. A closing
    /// completes it with `RemoteTierError.disconnected`.
    func send(
        _ commands: [[[UInt8]]],
        within limit: Duration,
        completion: @escaping @Sendable (Result<[RESPValue], RemoteTierError>) -> Void
    )

    /// Closes the connection.
    func close()
}

/// Why a tier is not connected.
public enum ValkeyIssue: Error, Sendable, Hashable {
    /// No connection could be made, or it was lost.
    case unreachable(String)
    /// The server does not accept the password, or demands one.
    case notAuthenticated(String)
    /// The server is a node of a cluster, which the tier does not support.
    case isCluster
    /// The server is a replica. Reads there lag behind, and writes are refused.
    case isReplica
    /// The server refused a command that a tier needs.
    case refused(String)
}

extension ValkeyIssue: CustomStringConvertible {
    /// What went wrong, in a sentence.
    public var description: String {
        switch self {
        case .unreachable(let reason): "The server cannot be reached: \(reason)"
        case .notAuthenticated(let reason): "The server does not accept the credentials: \(reason)"
        case .isCluster: "The server is a node of a cluster. Cluster mode is not supported: use a single primary."
        case .isReplica: "The server is a replica. Connect to the primary."
        case .refused(let reason): "The server refused: \(reason)"
        }
    }
}
#endif
