//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import NIOCore
import Testing

@testable import ValkeyCaching

@Suite("What callers have sent")
struct OutboxTests {
    let outbox = Outbox()

    func send(_ word: String) -> Outbox.Duty {
        outbox.append([[word.bytes]], Outbox.Request(expected: 1, deadline: .distantFuture, completion: nil))
    }

    /// Reads the replies to so many requests.
    func read(_ count: Int) {
        var pending = CircularBuffer<Outbox.Request>()
        outbox.beginReading(&pending)
        outbox.endReading(answered: count)
    }

    func written() -> String { String(buffer: outbox.takeBlocked()) }

    @Test("The first of a crowd sees to it that all are written, in one piece and in order")
    func crowd() {
        #expect((send("a"), send("b"), send("c")) == (.flushSoon, .none, .none))
        #expect(outbox.flush() == .drain)
        #expect(written() == "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$1\r\nc\r\n")
    }

    @Test("Nobody else writes while the socket takes no more")
    func blocked() {
        #expect(send("a") == .flushSoon)
        #expect(outbox.flush() == .drain)
        #expect(send("b") == .none)
        #expect(outbox.flush() == .none)
        #expect(written().hasSuffix("b\r\n"))
        #expect(send("c") == .none)
        outbox.unblock()
        #expect(outbox.flush() == .drain)
        #expect(written() == "*1\r\n$1\r\nc\r\n")
    }

    @Test("What comes while the event loop reads is left to it")
    func reading() {
        var pending = CircularBuffer<Outbox.Request>()
        outbox.beginReading(&pending)
        #expect(send("a") == .none)
        outbox.endReading(answered: 0)
        #expect(outbox.flush() == .drain)
        outbox.moveRequests(to: &pending)
        #expect(pending.count == 1)
    }

    @Test("A caller that is alone for a while writes at once, and one in a crowd does not")
    func alone() {
        for round in 0..<10 {
            #expect(send("a") == (round < 4 ? .flushSoon : .flushNow), "\(round)")
            #expect(outbox.flush() == .drain)
            _ = written()
            outbox.unblock()
            read(1)
        }
        #expect((send("a"), outbox.flush()) == (.flushNow, .drain))
        _ = written()
        outbox.unblock()
        #expect(send("b") == .flushSoon)
        #expect(outbox.flush() == .drain)
        _ = written()
        outbox.unblock()
        read(2)
        #expect(send("a") == .flushSoon)
    }

    @Test("Where a flush comes late, the event loop is woken for a while")
    func late() {
        var duties: [Outbox.Duty] = []
        for round in 0..<102 {
            duties.append(send("a"))
            _ = send("b")
            #expect(outbox.flush(isLate: round == 0) == .drain)
            _ = written()
            outbox.unblock()
            read(2)
        }
        #expect(duties == [.flushSoon] + Array(repeating: .wakeLoop, count: 100) + [.flushSoon])
    }

    @Test("Nothing is accepted after the end, and whoever waits is handed over")
    func closed() {
        _ = send("a")
        var pending = CircularBuffer<Outbox.Request>()
        outbox.close(&pending)
        #expect(pending.count == 1)
        #expect(send("b") == .refuse)
    }

    @Test("Commands are refused while too much waits")
    func full() {
        let outbox = Outbox(mostBytes: 100)
        let request = Outbox.Request(expected: 1, deadline: .distantFuture, completion: nil)
        let command = [Array(repeating: 0, count: 100) as [UInt8]]
        #expect((outbox.append([command], request), outbox.flush()) == (.flushSoon, .drain))
        #expect(outbox.append([command], request) == .refuse)
        _ = outbox.takeBlocked()
        #expect(outbox.append([command], request) == .none)
    }

    @Test("Commands are written as servers read them, whatever their lengths")
    func encoding() {
        let lengths = [0, 1, 9, 10, 11, 99, 100, 101, 999, 1_000, 12_345, 1 << 20]
        let commands = lengths.map { [Array(repeating: UInt8(ascii: "x"), count: $0), [], [13, 10, 0, 255]] }
        var expected: [UInt8] = []
        for command in commands {
            expected += "*3\r\n".bytes
            for word in command { expected += "$\(word.count)\r\n".bytes + word + "\r\n".bytes }
        }
        var buffer = ByteBuffer()
        buffer.writeCommands(commands)
        buffer.writeCommands([[[]]])
        expected += "*1\r\n$0\r\n\r\n".bytes
        #expect(Array(buffer.readableBytesView) == expected)
    }
}
#endif
