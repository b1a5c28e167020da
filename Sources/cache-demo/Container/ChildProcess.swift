//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc
import Synchronization

/// A child that runs this same program with an order of its own.
///
/// Its standard input is a pipe that only we hold: it carries what the child is to work on, and its end tells the child
/// that we are gone, however we went. Its standard output and error come back line by line.
final class ChildProcess: Sendable {
    /// How a child ended.
    enum End: Sendable, Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    let pid: pid_t
    /// What it prints, line by line, until it has ended.
    let lines: AsyncStream<String>
    private let input: Mutex<CInt?>
    private let outcome = Mutex<End?>(nil)

    /// How it ended; nil while it lives, set before `lines` finishes.
    var end: End? { outcome.withLock { $0 } }

    /// Starts a child with `order` as its arguments.
    init(arguments: [String]) throws {
        let toChild = try Self.makePipe()
        let fromChild = try Self.makePipe()
        defer {
            close(toChild[0])
            close(fromChild[1])
        }
        let ends = (input: toChild[0], output: fromChild[1])
        pid = try LiveThings.shared.startChild {
            try Self.spawn(arguments: arguments, input: ends.input, output: ends.output)
        }
        input = Mutex(toChild[1])
        let (stream, continuation) = AsyncStream<String>.makeStream()
        lines = stream
        let output = fromChild[0]
        Thread.detachNewThread { [self] in
            Self.readLines(from: output) { continuation.yield($0) }
            close(output)
            let end = LiveThings.shared.reap(pid)
            outcome.withLock { $0 = end }
            continuation.finish()
        }
    }

    /// Writes all of `bytes` to its standard input; false where it no longer reads.
    @discardableResult
    func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        input.withLock { file in
            guard let file else { return false }
            var sent = 0
            while sent < bytes.count {
                let count = write(file, bytes.baseAddress! + sent, bytes.count - sent)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// Writes a line to its standard input.
    @discardableResult
    func send(line: String) -> Bool { Array("\(line)\n".utf8).withUnsafeBytes { send($0) } }

    /// Ends its standard input, which asks it to finish.
    func closeInput() {
        input.withLock { file in
            if let open = file { close(open) }
            file = nil
        }
    }

    /// Kills it, if it still lives.
    func kill() { LiveThings.shared.kill(pid) }

    /// A pipe, read end first, that no other child inherits: an end held by a third would hide that we are gone.
    private static func makePipe() throws -> [CInt] {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ControlGroup.Refused(doing: "make a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return ends
    }

    private static func spawn(arguments: [String], input: CInt, output: CInt) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)

        // We ignore some signals to handle them elsewhere; a child must not inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in Interruption.signals + [SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // A process group of its own: Ctrl-C reaches us alone, and we decide in which order things end.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        let program = "/proc/self/exe"
        var vector = (["cache-demo"] + arguments).map { strdup($0) } + [nil]
        defer { vector.forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, program, &actions, &attributes, &vector, environ)
        guard code == 0 else { throw ControlGroup.Refused(doing: "start a child process", code: code) }
        return pid
    }

    private static func readLines(from file: CInt, _ body: (String) -> Void) {
        var pending: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(file, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            pending += chunk[..<count]
            while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                body(String(decoding: pending[..<newline], as: UTF8.self))
                pending.removeSubrange(...newline)
            }
        }
        if !pending.isEmpty { body(String(decoding: pending, as: UTF8.self)) }
    }
}
