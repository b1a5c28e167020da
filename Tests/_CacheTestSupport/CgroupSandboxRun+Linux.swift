//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import MemoryPressure

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension CgroupSandbox {
    /// How a program in a sandbox ended, and what it said.
    public struct Outcome: Sendable, CustomStringConvertible {
        /// The exit status; nil where a signal ended it.
        public var exitStatus: Int32?
        /// The signal that ended it: SIGKILL where it ran out of memory.
        public var signal: Int32?
        /// Whether the time given was over first (then ended by SIGKILL, too).
        public var timedOut: Bool
        /// What it wrote to standard output.
        public var output: String
        /// What it wrote to standard error.
        public var errors: String

        /// Whether the kernel killed it for want of memory, as far as the signal tells.
        public var wasKilled: Bool { signal == SIGKILL && !timedOut }

        /// One line for a failed expectation.
        public var description: String {
            let end = exitStatus.map { "exit \($0)" } ?? "signal \(signal ?? 0)"
            return "\(end)\(timedOut ? ", out of time" : "")\noutput: \(output)\nerrors: \(errors)"
        }
    }

    /// Runs the program at `path` inside the cgroup and waits for its end, at most `seconds`: then it is ended, and the
    /// stacks of its threads are printed. Only a program that hangs takes so long, also on a slow and busy machine.
    ///
    /// `environment` is added to this process's own. The program is in the cgroup before its first instruction.
    public func run(
        _ path: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        seconds: Double = 300
    ) throws -> Outcome {
        let outputPath = try Self.temporaryFile()
        let errorsPath = try Self.temporaryFile()
        defer {
            unlink(outputPath)
            unlink(errorsPath)
        }
        // The shell moves itself in and becomes the program: nothing of it is left, not even a process.
        var words = ["/bin/sh", "-c", #"echo $$ > "$0/cgroup.procs" && exec "$@""#, directory]
        words += environment.isEmpty ? [] : ["/usr/bin/env"] + environment.map { "\($0.key)=\($0.value)" }
        words += [path] + arguments

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errorsPath, O_WRONLY | O_TRUNC, 0o600)
        // The program gets its signals, whatever the test's thread has blocked.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, "/bin/sh", &actions, &attributes, &pointers, environ)
        guard error == 0 else { throw ControlGroup.Refused(doing: "posix_spawn", code: error) }

        let (status, timedOut) = Self.wait(for: process, seconds: seconds)
        let signal = status & 0x7F
        return Outcome(
            exitStatus: signal == 0 ? (status >> 8) & 0xFF : nil,
            signal: signal == 0 ? nil : signal,
            timedOut: timedOut,
            output: SystemFiles.system.text(outputPath) ?? "",
            errors: SystemFiles.system.text(errorsPath) ?? ""
        )
    }

    /// Waits by asking every 2 ms: the tests' own children are the only ones asked for, so no signal handler is needed.
    private static func wait(for process: pid_t, seconds: Double) -> (status: Int32, timedOut: Bool) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        var status: Int32 = 0
        while true {
            let answer = waitpid(process, &status, WNOHANG)
            if answer == process || (answer < 0 && errno != EINTR) { return (status, false) }
            if ContinuousClock.now > deadline { break }
            usleep(2_000)
        }
        printStacks(of: process)
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        return (status, true)
    }

    private static func temporaryFile() throws -> String {
        var template = Array("/tmp/cache-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw ControlGroup.Refused(doing: "mkstemp") }
        close(descriptor)
        return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}
