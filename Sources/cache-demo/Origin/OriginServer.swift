//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import FlyingFox
import FlyingSocks
import Foundation
import Glibc

/// The origin: an HTTP server on 127.0.0.1 that makes whichever thumbnail is asked for, after a latency.
///
/// It lives in the parent process, outside the memory limit under test, as a real origin would.
final class OriginServer: Sendable {
    /// Milliseconds that a request waits before it is answered, as for a disk or a database.
    static let latency = 2

    /// The port it listens on, of the kernel's choice.
    let port: UInt16
    private let task: Task<Void, any Error>

    init() async throws {
        let server = HTTPServer(
            address: try .inet(ip4: "127.0.0.1", port: 0),
            pool: PromptSocketPool(base: HTTPServer.defaultPool()),
            logger: DisabledLogger.disabled,
            handler: ClosureHTTPHandler { request in
                guard let thumbnail = Thumbnail(path: request.path) else { return HTTPResponse(statusCode: .notFound) }
                try await Task.sleep(for: .milliseconds(Self.latency))
                return HTTPResponse(statusCode: .ok, body: Data(thumbnail.bytes))
            }
        )
        task = Task { try await server.run() }
        try await server.waitUntilListening()
        guard case .ip4(_, let port) = await server.listeningAddress else { throw SocketError.unsupportedAddress }
        self.port = port
    }

    deinit { task.cancel() }
}

/// FlyingFox's pool of sockets, with Nagle's algorithm switched off: the server writes a response's head and its body
/// apart, and the end of the body would wait for the client's delayed acknowledgement (measured: 26 ms a request on one
/// connection instead of 1). Accepted sockets inherit the option from the listening socket, which only the pool sees.
private struct PromptSocketPool<Base: AsyncSocketPool>: AsyncSocketPool {
    let base: Base

    func prepare() async throws { try await base.prepare() }
    func run() async throws { try await base.run() }

    func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
        try? socket.setValue(true, for: BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY))
        try await base.suspendSocket(socket, untilReadyFor: events)
    }
}
