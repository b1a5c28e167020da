//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import TieredCaching
import Testing
import _CacheTestSupport

@testable import ValkeyCaching

/// One connection to a server that says what a test wants it to say.
@Suite("A connection", .serialized, .timeLimit(.minutes(10)))
struct ConnectionTests {
    /// Answers the first bytes that come with `answer`.
    private final class Answering: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let answer: String
        init(_ answer: String) { self.answer = answer }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(NIOAny(ByteBuffer(string: answer)), promise: nil)
        }
    }

    private func connect(
        to port: Int,
        push: @escaping @Sendable ([RESPValue]) -> Void = { _ in }
    ) async throws -> (NIOTransport, any ValkeyConnection) {
        let transport = NIOTransport(ValkeyConfiguration(port: port))
        let connection: any ValkeyConnection = try await withCheckedThrowingContinuation { continuation in
            transport.connect(push: push, closed: { _ in }) {
                continuation.resume(with: $0.mapError { $0 as any Error })
            }
        }
        return (transport, connection)
    }

    private func listen(_ answer: String) async throws -> any Channel {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    private func result(
        of commands: [String],
        _ connection: any ValkeyConnection
    ) async -> Result<[RESPValue], RemoteTierError> {
        await withCheckedContinuation { continuation in
            connection.send(commands.map { [$0.bytes] }, within: .seconds(60)) { continuation.resume(returning: $0) }
        }
    }

    /// Has a caller ask for more with each piece that is written, before that is done.
    private final class Asking: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var left = 100_000
        var outbox: Outbox?

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if left > 0, let outbox {
                left -= 1
                _ = outbox.append(
                    [["A".bytes]],
                    Outbox.Request(expected: 1, deadline: .distantFuture, completion: nil)
                )
            }
            context.write(data, promise: promise)
        }
    }

    @Test("Where the socket takes all at once, writing goes on without a level more for each piece")
    func depth() throws {
        let (asking, handler) = (Asking(), PipelineHandler(largestValue: 100, push: { _ in }, closed: { _ in }))
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([asking, handler])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        asking.outbox = handler.outbox
        _ = handler.outbox.append(
            [["A".bytes]],
            Outbox.Request(expected: 1, deadline: .distantFuture, completion: nil)
        )
        handler.flush()
        channel.embeddedEventLoop.run()
        #expect(asking.left == 0)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("Whoever receives a push may close the connection, also between two replies of one request")
    func closedByPush() async throws {
        let server = try await listen("+a\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n+b\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n")
        let pushes = Atomic<Int>(0)
        let opened = Mutex<(any ValkeyConnection)?>(nil)
        let (transport, connection) = try await connect(to: server.localAddress!.port!) { _ in
            pushes.add(1, ordering: .relaxed)
            opened.withLock { $0 }?.close()
        }
        opened.withLock { $0 = connection }
        #expect(await result(of: ["A", "B"], connection) == .failure(.disconnected))
        await transport.shutDown()
        #expect(pushes.load(ordering: .relaxed) == 1)
        try await server.close()
    }

    @Test("A connection that is closed as soon as it is there answers all, and lets go of the socket")
    func closedAtOnce() async throws {
        let server = try await listen("")
        let transport = NIOTransport(ValkeyConfiguration(port: server.localAddress!.port!))
        let left = Mutex<Weak?>(nil)
        let result: Result<[RESPValue], RemoteTierError> = await withCheckedContinuation { continuation in
            transport.connect(push: { _ in }, closed: { _ in }) { result in
                guard case .success(let connection) = result else {
                    Issue.record("It is not connected.")
                    return
                }
                left.withLock { $0 = Weak(connection) }
                connection.send([["A".bytes]], within: .seconds(60)) {
                    // As a greeting does, which closes where its tier is gone.
                    withExtendedLifetime(connection) {}
                    continuation.resume(returning: $0)
                }
                connection.close()
            }
        }
        #expect(result == .failure(.disconnected))
        await transport.shutDown()
        await yieldUntil { left.withLock { $0?.object == nil } }
        try await server.close()
    }

    private struct Weak: Sendable {
        weak var object: (any ValkeyConnection)?
        init(_ object: any ValkeyConnection) { self.object = object }
    }

    @Test("Who asks when all is over is told so")
    func afterTheEnd() async throws {
        let server = try await listen("")
        let (transport, connection) = try await connect(to: server.localAddress!.port!)
        await transport.shutDown()
        #expect(await result(of: ["A"], connection) == .failure(.disconnected))
        // NIO would stop a debug build.
        for _ in 0..<100 { transport.schedule(after: .zero) { Issue.record("The loop has ended.") } }
        connection.close()
        let answer = Mutex<ValkeyIssue?>(nil)
        transport.connect(push: { _ in }, closed: { _ in }) { result in
            if case .failure(let issue) = result { answer.withLock { $0 = issue } }
        }
        #expect(answer.withLock { $0 } == .unreachable("the tier was shut down"))
        try await server.close()
    }
}
#endif
