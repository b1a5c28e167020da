//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import TieredCaching

/// One connection: commands of any thread are collected, written in one piece, and matched with the replies in order.
final class NIOConnection: ValkeyConnection {
    private let channel: any Channel
    private let loop: EndingLoop
    private let handler: NIOLoopBound<PipelineHandler>
    private let outbox: Outbox

    /// How long a crowd may take to say what it wants: many times what a hundred callers take.
    private static var patience: TimeAmount { .milliseconds(2) }

    init(channel: any Channel, handler: PipelineHandler, loop: EndingLoop) {
        self.channel = channel
        self.loop = loop
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        outbox = handler.outbox
    }

    func send(
        _ commands: [[[UInt8]]],
        within limit: Duration,
        completion: @escaping @Sendable (Result<[RESPValue], RemoteTierError>) -> Void
    ) {
        let deadline = NIODeadline.now() + .nanoseconds(limit.wholeNanoseconds)
        let request = Outbox.Request(expected: commands.count, deadline: deadline, completion: completion)
        switch outbox.append(commands, request) {
        // Here and now: the event loop may have ended.
        case .refuse: completion(.failure(.disconnected))
        case let duty: perform(duty)
        }
    }

    private func perform(_ duty: Outbox.Duty) {
        switch duty {
        case .none, .refuse: break
        case .flushNow: perform(outbox.flush())
        case .flushSoon where channel.eventLoop.inEventLoop: handler.value.flush()
        // Tasks run in turn: behind those that have their answers and are about to ask for more. Others wait for it
        // too, so it is never less urgent than usual.
        case .flushSoon:
            let latest = NIODeadline.now() + Self.patience
            Task(priority: max(Task.currentPriority, .medium)) { perform(outbox.flush(isLate: .now() > latest)) }
        case .wakeLoop: loop.execute { [handler] in handler.value.flush() }
        case .drain: loop.execute { [handler] in handler.value.drain() }
        }
    }

    func close() {
        if channel.eventLoop.inEventLoop { return channel.close(promise: nil) }
        loop.execute { [channel] in channel.close(promise: nil) }
    }
}
#endif
