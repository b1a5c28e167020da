//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
public import NIOSSL
import TieredCaching

/// Where the server is, how to greet it, and how long to wait for it.
public struct ValkeyConfiguration: Sendable {
    /// The server's name or address.
    public var host: String
    /// Its port, 1 to 65535. With another number nothing is connected, and the issue says why.
    public var port: Int
    /// The user to authenticate as; nil for the default user. One without a password is authenticated too.
    public var username: String?
    /// The password; nil for none.
    public var password: String?
    /// The number of the database.
    public var database: Int
    /// The settings of TLS; nil for a connection in plain text.
    public var tls: TLSConfiguration?
    /// The name that the server's certificate must have; nil for ``host``. A certificate of the address that is
    /// connected to will do too; no other address can be asked for, and with one nothing is connected.
    public var serverName: String?

    /// How often the connection proves that it lives. 200 ms by default, and 1 ms at least.
    public var heartbeat: Duration
    /// How long such a proof may take. After that the connection is closed and made anew. 500 ms by default.
    ///
    /// The proof waits behind what is being sent: at 10 MB/s a value of 8 MB takes longer. Give more time, or allow
    /// smaller values (`TieredCacheOptions.largestValue`), on a slow link.
    ///
    /// When the network is cut, near values are served for ``heartbeat`` plus ``timeout`` at most.
    public var timeout: Duration
    /// How long connecting may take, and before that finding the addresses of ``host``. 500 ms by default, and 1 ms at
    /// least.
    public var connectTimeout: Duration
    /// The longest pause between two attempts to connect to a server that cannot be reached, or that breaks off before
    /// the first heartbeat. 250 ms by default, so that service is back within a second of the server's return.
    public var longestPause: Duration
    /// The largest reply that is accepted, in bytes. A server that sends more is disconnected, and so is one that sends
    /// lists of more items than take as much memory, at 48 bytes each. Values that would not fit into a reply are not
    /// asked for: they count as none, and are overwritten. Keys that would not fit are neither asked for nor stored:
    /// their values are loaded each time. 64 MiB by default; the greeting takes a few KiB, without which nothing
    /// connects.
    public var largestReply: Int

    /// Called with the reason whenever connecting has failed or a connection was lost, on the tier's thread: for logs.
    public var issueHandler: (@Sendable (ValkeyIssue) -> Void)?

    /// A configuration of a server in plain text and without a password, unless said otherwise.
    public init(
        host: String = "127.0.0.1",
        port: Int = 6379,
        username: String? = nil,
        password: String? = nil,
        database: Int = 0,
        tls: TLSConfiguration? = nil,
        serverName: String? = nil,
        heartbeat: Duration = .milliseconds(200),
        timeout: Duration = .milliseconds(500),
        connectTimeout: Duration = .milliseconds(500),
        longestPause: Duration = .milliseconds(250),
        largestReply: Int = 64 << 20,
        issueHandler: (@Sendable (ValkeyIssue) -> Void)? = nil
    ) {
        self.host = host
        self.port = port
        self.username = username
        self.password = password
        self.database = database
        self.tls = tls
        self.serverName = serverName
        self.heartbeat = heartbeat
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.longestPause = longestPause
        self.largestReply = largestReply
        self.issueHandler = issueHandler
    }

    /// The largest value that fits into a reply: what the scripts say beside it takes 60 bytes.
    var largestValue: Int { max(128, largestReply) - 128 }

    /// ``heartbeat`` as it is kept: a pause of a millisecond at least, and one that deadlines can be computed with.
    var boundedHeartbeat: Duration { max(.milliseconds(1), heartbeat.bounded) }

    /// ``connectTimeout`` as it is kept: less would never connect.
    var boundedConnectTimeout: Duration { max(.milliseconds(1), connectTimeout.bounded) }

    /// How long after a proof of life was asked for the connection counts as living.
    var longestSilence: Duration { boundedHeartbeat + timeout.bounded }
}
#endif
