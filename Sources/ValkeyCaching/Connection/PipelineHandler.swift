//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import TieredCaching

/// The end of a connection's pipeline: parses, matches replies with requests, and passes pushes on where they are read.
final class PipelineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How often requests that are late are looked for: a tenth of the soft timeout's default.
    private static var deadlineInterval: TimeAmount { .milliseconds(10) }

    let outbox = Outbox()
    private var parser: RESPParser
    private let push: @Sendable ([RESPValue]) -> Void
    private let closed: @Sendable (String?) -> Void
    private var pending = CircularBuffer<Outbox.Request>()
    /// The replies to the first of them that have come, and how many have not.
    private var replies: [RESPValue] = []
    private var missing = 0
    /// Requests that have been answered since the outbox was told of it.
    private var answered = 0
    private var context: ChannelHandlerContext?
    private var reason: String?
    /// Whether the connection is at its end: what else has been read is nobody's.
    private var isOver = false
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

    /// Writes what callers have sent, in one piece.
    func flush() {
        outbox.endReading(answered: answered)
        answered = 0
        switch outbox.flush() {
        case .drain: drain()
        case .flushSoon:
            guard let loop = context?.eventLoop else { return }
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.execute { bound.value.flush() }
        case .none, .flushNow, .wakeLoop, .refuse: break
        }
    }

    /// Writes what the socket has not taken, and goes on when it has.
    func drain() {
        guard let context, context.channel.isActive else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(outbox.takeBlocked())).whenSuccess {
            bound.value.outbox.unblock()
            // Not from here: the socket may have taken all at once, and callers may add more for as long as they like.
            bound.value.context?.eventLoop.execute { bound.value.flush() }
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        deadlines = context.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.deadlineInterval,
            delay: Self.deadlineInterval
        ) { _ in bound.value.failLate() }
    }

    /// The last that it hears. One that is closed as soon as it is connected never was active, and so never becomes
    /// inactive.
    func handlerRemoved(context: ChannelHandlerContext) {
        deadlines?.cancel()
        self.context = nil
        end()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        outbox.beginReading(&pending)
        unwrapInboundIn(data).withUnsafeReadableBytes { parser.append($0) }
        do {
            while !isOver, let value = try parser.next() {
                if case .push(let items) = value { push(items) } else { complete(with: value) }
            }
        } catch {
            fail(context, "\(error)")
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush()
        context.fireChannelReadComplete()
    }

    private func complete(with reply: RESPValue) {
        if missing == 0 {
            guard let first = pending.first else {
                if let context { fail(context, "The server sent a reply that nobody has asked for.") }
                return
            }
            missing = first.expected
            replies.reserveCapacity(missing)
        }
        replies.append(reply)
        missing -= 1
        guard missing == 0 else { return }
        let answer = replies
        replies = []
        answered += 1
        pending.removeFirst().completion?(.success(answer))
    }

    /// Late requests fail, and stay to take their replies. What waits for callers to write it has waited long enough.
    private func failLate() {
        flush()
        outbox.moveRequests(to: &pending)
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
        isOver = true
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isOver = true
        // The tier hears of the loss first: what its requests fail with, or are refused with from now on, must not be
        // taken for news of a live connection.
        closed(reason)
        end()
        context.fireChannelInactive()
    }

    /// Nothing is sent or answered any more, and the socket is let go of.
    private func end() {
        // Perhaps between two replies of one request: whoever a push is passed on to may close.
        isOver = true
        var unanswered = pending
        pending.removeAll()
        (replies, missing) = ([], 0)
        outbox.close(&unanswered)
        for request in unanswered { request.completion?(.failure(.disconnected)) }
    }
}
#endif
