//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import Synchronization
import TieredCaching

/// What callers of any thread have sent: the bytes that have not been written, and the requests that the event loop has
/// not taken over yet, both in one order.
///
/// Commands are encoded where they wait, and whoever comes while somebody is about to write is written in the same
/// piece. A crowd of callers is resumed together, when the event loop reads; what they ask next is written when that
/// read is over, or, after it, when all that are ready have run. A caller that is alone writes at once.
final class Outbox: Sendable {
    /// Commands that were sent together and wait for their replies.
    struct Request: Sendable {
        let expected: Int
        let deadline: NIODeadline
        /// Nil once it has been called.
        var completion: (@Sendable (Result<[RESPValue], RemoteTierError>) -> Void)?
    }

    /// What is left to do for whoever has sent or written something.
    enum Duty {
        case none
        case flushNow
        /// Flush when those who are ready have run.
        case flushSoon
        /// Have the event loop flush.
        case wakeLoop
        /// Have the event loop write what the socket has not taken.
        case drain
        /// Answer that there is no connection, or none that takes anything.
        case refuse
    }

    fileprivate struct State {
        var bytes = ByteBuffer()
        var requests: [Request] = []
        /// Who will write what is here: the event loop, which reads; a flush on its way; a thread that writes already;
        /// or the event loop, as soon as the socket takes more.
        var isReading = false, isFlushComing = false, isWriting = false, isBlocked = false
        var isClosed = false
        var socket: DirectSocket?
        /// Requests that have not been answered, those on the event loop among them.
        var unanswered = 0
        /// How many in a row came when all before them had been answered.
        var loneRequests = 0
        /// How many more times the event loop flushes in place of a task, because one has come late.
        var wakesOfLoop = 0
    }

    private let state = Mutex(State())
    /// With so much waiting for a socket that takes no more, nothing is accepted: a buffer has an end.
    private let mostBytes: Int

    init(mostBytes: Int = 1 << 30) { self.mostBytes = mostBytes }

    /// How much room the first command of a crowd gets.
    private static var firstCapacity: Int { 4 << 10 }

    /// How many lone requests in a row show that their caller is alone. In a crowd it happens that all have their
    /// answers at once, and the first to ask again must not go ahead of the others in a write of its own.
    private static var loneRequests: Int { 4 }

    /// How many times the event loop is woken before a task is tried again.
    private static var wakesOfLoop: Int { 100 }

    // MARK: Any thread

    /// Adds commands and their request.
    func append(_ commands: [[[UInt8]]], _ request: Request) -> Duty {
        state.withLock { state in
            if state.isClosed || state.bytes.readableBytes > mostBytes { return .refuse }
            if state.bytes.readableBytes == 0 { state.bytes.reserveCapacity(Self.firstCapacity) }
            state.bytes.writeCommands(commands)
            state.requests.append(request)
            state.unanswered += 1
            if state.unanswered == 1 {
                state.loneRequests += 1
            } else if !state.isReading {
                // While the event loop reads it may have answered those before, and not have said so.
                state.loneRequests = 0
            }
            if state.isReading || state.isFlushComing || state.isWriting || state.isBlocked { return .none }
            if state.loneRequests > Self.loneRequests { return .flushNow }
            state.isFlushComing = true
            if state.wakesOfLoop == 0 { return .flushSoon }
            state.wakesOfLoop -= 1
            return .wakeLoop
        }
    }

    /// Writes what is here, as much as the socket takes at once.
    ///
    /// - Parameter isLate: whether those who are ready take long, as where the pool is busy with other things.
    func flush(isLate: Bool = false) -> Duty {
        let taken = state.withLock { state -> (ByteBuffer, DirectSocket?)? in
            state.isFlushComing = false
            if isLate { state.wakesOfLoop = Self.wakesOfLoop }
            if state.isWriting || state.isBlocked || state.bytes.readableBytes == 0 { return nil }
            guard let socket = state.socket else {
                state.isBlocked = true
                return (ByteBuffer(), nil)
            }
            state.isWriting = true
            return (state.takeBytes(), socket)
        }
        guard let (waiting, socket) = taken else { return .none }
        guard let socket else { return .drain }
        var bytes = waiting
        socket.write(&bytes)
        return state.withLock { state in
            state.isWriting = false
            if bytes.readableBytes > 0 {
                bytes.writeImmutableBuffer(state.bytes)
                state.bytes = bytes
                state.isBlocked = true
                return .drain
            }
            if state.isReading || state.isFlushComing || state.bytes.readableBytes == 0 { return .none }
            state.isFlushComing = true
            return .flushSoon
        }
    }

    // MARK: The event loop

    /// Callers may write by themselves from now on.
    func open(_ socket: DirectSocket?) { state.withLock { if !$0.isClosed { $0.socket = socket } } }

    /// The event loop reads, and will flush: moves requests to where they wait for their replies.
    func beginReading(_ pending: inout CircularBuffer<Request>) {
        state.withLock { state in
            state.isReading = true
            state.moveRequests(to: &pending)
        }
    }

    /// The event loop has read the replies to so many requests.
    func endReading(answered: Int) {
        state.withLock { state in
            state.isReading = false
            state.unanswered -= answered
        }
    }

    /// Moves requests to where they wait for their replies.
    func moveRequests(to pending: inout CircularBuffer<Request>) {
        state.withLock { $0.moveRequests(to: &pending) }
    }

    /// What the event loop is to write in place of the socket. Nobody else writes until it has.
    func takeBlocked() -> ByteBuffer { state.withLock { $0.takeBytes() } }

    /// The event loop has written that.
    func unblock() { state.withLock { $0.isBlocked = false } }

    /// Nothing is accepted from now on.
    func close(_ pending: inout CircularBuffer<Request>) {
        state.withLock { state in
            state.isClosed = true
            state.socket = nil
            state.moveRequests(to: &pending)
        }
    }
}

extension Outbox.State {
    fileprivate mutating func takeBytes() -> ByteBuffer {
        defer { bytes = ByteBuffer() }
        return bytes
    }

    fileprivate mutating func moveRequests(to pending: inout CircularBuffer<Outbox.Request>) {
        pending.append(contentsOf: requests)
        requests.removeAll(keepingCapacity: true)
    }
}
#endif
