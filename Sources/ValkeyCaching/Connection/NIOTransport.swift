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
    private let lookup: HostLookup

    init(_ configuration: ValkeyConfiguration, lookup: HostLookup = HostLookup()) {
        self.configuration = configuration
        self.lookup = lookup
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
        // TLS compares an address with the one that is connected to, and with no other.
        if configuration.tls != nil, let name = configuration.serverName, name.isAddress, name != configuration.host {
            return completion(.failure(.unreachable("serverName is an address, \(name), and not that of the host")))
        }
        let connected = { @Sendable (result: Result<any Channel, any Error>) in
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
        let (host, port) = (configuration.host, configuration.port)
        if let address = try? SocketAddress(ipAddress: host, port: port) {
            return bootstrap(push, closed).connect(to: address).whenComplete(connected)
        }
        // Of the addresses and the end of patience, whatever comes first. Both come on the event loop.
        let isOver = NIOLoopBoundBox.makeBoxSendingValue(false, eventLoop: loop.loop)
        let patience = loop.schedule(after: configuration.boundedConnectTimeout) {
            if isOver.value { return }
            isOver.value = true
            completion(.failure(.unreachable("the addresses of \(host) are not found in time")))
        }
        lookup.find(host, port: port) { addresses in
            loop.execute { [self] in
                if isOver.value { return }
                isOver.value = true
                patience?.cancel()
                if addresses.isEmpty { return completion(.failure(.unreachable("\(host) has no addresses"))) }
                let resolver = KnownAddresses(loop: loop.loop, addresses: addresses)
                let bootstrap = bootstrap(push, closed).resolver(resolver)
                bootstrap.connect(host: host, port: port).whenComplete(connected)
            }
        }
    }

    /// What makes a connection, up to its pipeline.
    private func bootstrap(
        _ push: @escaping @Sendable ([RESPValue]) -> Void,
        _ closed: @escaping @Sendable (_ reason: String?) -> Void
    ) -> ClientBootstrap {
        let configuration = configuration
        return ClientBootstrap(group: loop.loop)
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
