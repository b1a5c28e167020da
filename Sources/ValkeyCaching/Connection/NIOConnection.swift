//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import Synchronization
import TieredCaching

/// One connection: commands of any thread are collected, written in one piece by the event loop, and matched with the
/// replies in order.
final class NIOConnection: ValkeyConnection {
    private let channel: any Channel
    private let handler: NIOLoopBound<PipelineHandler>
    private let outbox = Mutex<[PipelineHandler.Request]>([])

    init(channel: any Channel, handler: PipelineHandler) {
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    func send(
        _ commands: [[[UInt8]]],
        within limit: Duration,
        completion: @escaping @Sendable (Result<[RESPValue], RemoteTierError>) -> Void
    ) {
        var bytes: [UInt8] = []
        for command in commands { RESPCommand.append(command, to: &bytes) }
        let request = PipelineHandler.Request(
            bytes: bytes,
            replies: [],
            expected: commands.count,
            deadline: .now() + .nanoseconds(limit.wholeNanoseconds),
            completion: completion
        )
        let isFirst = outbox.withLock { outbox in
            outbox.append(request)
            return outbox.count == 1
        }
        // Whoever comes while the loop is on its way is written in the same piece.
        if isFirst { channel.eventLoop.execute { self.flush() } }
    }

    private func flush() {
        let requests = outbox.withLock { outbox in
            defer { outbox = [] }
            return outbox
        }
        handler.value.send(requests)
    }

    func close() { channel.close(promise: nil) }
}

/// The end of a connection's pipeline: parses, matches replies with requests, and passes pushes on where they are read.
final class PipelineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Commands that were sent together and wait for their replies.
    struct Request: Sendable {
        var bytes: [UInt8]
        var replies: [RESPValue]
        let expected: Int
        let deadline: NIODeadline
        /// Nil once it has been called.
        var completion: (@Sendable (Result<[RESPValue], RemoteTierError>) -> Void)?
    }

    /// How often requests that are late are looked for: a tenth of the soft timeout's default.
    private static var deadlineInterval: TimeAmount { .milliseconds(10) }

    private var parser: RESPParser
    private let push: @Sendable ([RESPValue]) -> Void
    private let closed: @Sendable (String?) -> Void
    private var pending = CircularBuffer<Request>()
    private var context: ChannelHandlerContext?
    private var reason: String?
    private var deadlines: RepeatedTask?

    init(
        largestValue: Int,
        push: @escaping @Sendable ([RESPValue]) -> Void,
        closed: @escaping @Sendable (String?) -> Void
    ) {
        parser = RESPParser(largestValue: largestValue)
        self.push = push
        self.closed = closed
    }

    /// Writes requests in one piece.
    func send(_ requests: [Request]) {
        guard let context, context.channel.isActive else {
            for request in requests { request.completion?(.failure(.disconnected)) }
            return
        }
        var buffer = context.channel.allocator.buffer(capacity: requests.reduce(0) { $0 + $1.bytes.count })
        for var request in requests {
            buffer.writeBytes(request.bytes)
            request.bytes = []
            pending.append(request)
        }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        deadlines = context.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.deadlineInterval,
            delay: Self.deadlineInterval
        ) { _ in bound.value.failLate() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadlines?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { parser.append($0) }
        do {
            while let value = try parser.next() {
                if case .push(let items) = value { push(items) } else { complete(with: value) }
            }
        } catch {
            fail(context, "\(error)")
        }
    }

    private func complete(with reply: RESPValue) {
        guard !pending.isEmpty else {
            if let context { fail(context, "The server sent a reply that nobody has asked for.") }
            return
        }
        pending[pending.startIndex].replies.append(reply)
        guard let first = pending.first, first.replies.count == first.expected else { return }
        pending.removeFirst()
        first.completion?(.success(first.replies))
    }

    /// Late requests fail, and stay to take their replies.
    private func failLate() {
        let now = NIODeadline.now()
        var late: [@Sendable (Result<[RESPValue], RemoteTierError>) -> Void] = []
        for index in pending.indices where pending[index].deadline <= now {
            if let completion = pending[index].completion { late.append(completion) }
            pending[index].completion = nil
        }
        // Called when the queue is not being walked any more: one that is late may close the connection.
        for completion in late { completion(.failure(.timedOut)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(context, "\(error)") }

    private func fail(_ context: ChannelHandlerContext, _ reason: String) {
        self.reason = self.reason ?? reason
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let unanswered = pending
        pending.removeAll()
        // The tier hears of the loss first: what its requests fail with must not be taken for news of a live
        // connection.
        closed(reason)
        for request in unanswered { request.completion?(.failure(.disconnected)) }
        context.fireChannelInactive()
    }
}
#endif
