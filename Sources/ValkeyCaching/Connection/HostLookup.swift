//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import NIOPosix
import Synchronization

/// Looks a host's addresses up: one lookup at a time, which may take as long as the system's resolver likes.
///
/// NIO's own resolver gives the answer to the event loop whenever it comes, and that must not have ended by then.
final class HostLookup: Sendable {
    private struct State {
        /// Attempts to connect that have come since the lookup under way began; 0 where there is none.
        var attemptCount = 0
        /// What to do with the addresses: the latest attempt to connect, because the earlier ones have given up.
        var waiting: (@Sendable ([SocketAddress]) -> Void)?
    }

    private let state = Mutex(State())
    private let resolve: @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    /// - Parameter resolve: finds the addresses, and may wait.
    init(resolve: @escaping @Sendable (_ host: String, _ port: Int) -> [SocketAddress] = addresses) {
        self.resolve = resolve
    }

    /// Calls `body` with the addresses, on any thread, unless another call comes before they are there.
    func find(_ host: String, port: Int, _ body: @escaping @Sendable ([SocketAddress]) -> Void) {
        let isFirst = state.withLock { state in
            defer { (state.attemptCount, state.waiting) = (state.attemptCount + 1, body) }
            return state.attemptCount == 0
        }
        guard isFirst else { return }
        // A thread of its own, which keeps nobody else from connecting however long it waits.
        let thread = NIOThreadPool(numberOfThreads: 1)
        thread.start()
        thread.submit { [self] _ in
            defer { thread.shutdownGracefully { _ in } }
            let addresses = resolve(host, port)
            let waiting = state.withLock { state in
                defer { (state.attemptCount, state.waiting) = (0, nil) }
                return state.waiting
            }
            waiting?(addresses)
        }
    }

    /// How many attempts to connect have waited for the lookup that is under way; for tests.
    var attemptCount: Int { state.withLock { $0.attemptCount } }
}

/// Addresses that are known, for NIO to try as RFC 8305 says.
struct KnownAddresses: Resolver, Sendable {
    let loop: any EventLoop
    let addresses: [SocketAddress]

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { answer(.inet) }
    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { answer(.inet6) }
    func cancelQueries() {}

    private func answer(_ family: NIOBSDSocket.ProtocolFamily) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == family })
    }
}
#endif
