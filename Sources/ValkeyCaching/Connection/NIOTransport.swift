//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import NIOPosix
import NIOSSL
import TieredCaching

/// Connections on SwiftNIO, on one event loop with a thread of its own.
final class NIOTransport: ValkeyTransport {
    private let configuration: ValkeyConfiguration
    private let group: MultiThreadedEventLoopGroup
    private let loop: EndingLoop

    init(_ configuration: ValkeyConfiguration) {
        self.configuration = configuration
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = EndingLoop(group.next())
    }

    func connect(
        push: @escaping @Sendable ([RESPValue]) -> Void,
        closed: @escaping @Sendable (_ reason: String?) -> Void,
        completion: @escaping @Sendable (Result<any ValkeyConnection, ValkeyIssue>) -> Void
    ) {
        let (configuration, loop) = (configuration, loop)
        if loop.hasEnded { return completion(.failure(.unreachable("the tier was shut down"))) }
        guard 1...65_535 ~= configuration.port else {
            return completion(.failure(.unreachable("\(configuration.port) is no port: they go from 1 to 65535")))
        }
        let bootstrap = ClientBootstrap(group: loop.loop)
            .connectTimeout(.nanoseconds(configuration.boundedConnectTimeout.wholeNanoseconds))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls = configuration.tls {
                        let context = try NIOSSLContext(configuration: tls)
                        let name = configuration.serverName ?? configuration.host
                        // An address is no name to ask for.
                        let handler = try NIOSSLClientHandler(
                            context: context,
                            serverHostname: name.isAddress ? nil : name
                        )
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    let handler = PipelineHandler(largestValue: configuration.largestReply, push: push, closed: closed)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        bootstrap.connect(host: configuration.host, port: configuration.port).whenComplete { result in
            switch result {
            case .success(let channel):
                do {
                    let handler = try channel.pipeline.syncOperations.handler(type: PipelineHandler.self)
                    if configuration.tls == nil { handler.outbox.open(DirectSocket(of: channel)) }
                    completion(.success(NIOConnection(channel: channel, handler: handler, loop: loop)))
                } catch {
                    completion(.failure(.unreachable("\(error)")))
                }
            case .failure(let error): completion(.failure(.unreachable("\(error)")))
            }
        }
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        loop.schedule(after: delay, body)
    }

    func shutDown() async {
        loop.end()
        try? await group.shutdownGracefully()
    }
}

extension String {
    /// Whether it is an address in numbers.
    fileprivate var isAddress: Bool { (try? SocketAddress(ipAddress: self, port: 0)) != nil }
}

extension Duration {
    /// Nanoseconds, clamped to a century in either direction, which deadlines can be computed with.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
#endif
