//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryPressure

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs `body`, and ends the process with the stacks of all its threads where `body` has not returned after `seconds`.
///
/// For code whose failure is a deadlock: a hang becomes a failure that shows its cause. The time only bounds how long
/// a hang lasts; it proves nothing, so it is far longer than the body takes on a slow and busy machine.
public func failingWhenStuck<Result, Failure: Error>(
    _ what: String,
    seconds: Int = 300,
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    let end = startWatchdog(what, seconds)
    defer { end.advance() }
    return try body()
}

/// The same for an asynchronous body.
public func failingWhenStuck<Result, Failure: Error>(
    _ what: String,
    seconds: Int = 300,
    _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
    let end = startWatchdog(what, seconds)
    defer { end.advance() }
    return try await body()
}

/// Starts a thread that reports and aborts unless the counter it returns is advanced within `seconds`.
private func startWatchdog(_ what: String, _ seconds: Int) -> CompletionCounter {
    let end = CompletionCounter()
    let work = Unmanaged.passRetained(Watch(what: what, seconds: seconds, end: end))
    var thread = pthread_t()
    let error = pthread_create(
        &thread,
        nil,
        { pointer in
            Unmanaged<Watch>.fromOpaque(pointer!).takeRetainedValue().run()
            return nil
        },
        work.toOpaque()
    )
    if error == 0 { pthread_detach(thread) } else { work.release() }
    return end
}

private final class Watch: Sendable {
    let what: String
    let seconds: Int
    let end: CompletionCounter

    init(what: String, seconds: Int, end: CompletionCounter) {
        (self.what, self.seconds, self.end) = (what, seconds, end)
    }

    func run() {
        end.wait(past: 0, nanoseconds: UInt64(seconds) * 1_000_000_000)
        guard end.count == 0 else { return }
        report("\nSTUCK: \(what) has not finished after \(seconds) s. All threads of process \(getpid()):\n")
        if !printStacks() { printThreads() }
        abort()
    }
}

/// Standard output may be buffered, or locked by a thread that is stuck.
private func report(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(2, $0.baseAddress!, $0.count) }
}

/// Has gdb print the stacks of all threads of `process`; false where there is no gdb, or it may not look at it.
@discardableResult
func printStacks(of process: pid_t = getpid()) -> Bool {
    // Where only parents may trace (Yama), gdb is a child and asks for leave. Swift imports no variadic function; on
    // the ABIs in use integers go the same way to both kinds.
    typealias Control = @convention(c) (CInt, CUnsignedLong, CUnsignedLong, CUnsignedLong, CUnsignedLong) -> CInt
    let (setTracer, any): (CInt, CUnsignedLong) = (0x5961_6D61, .max)
    _ = unsafeBitCast(dlsym(nil, "prctl"), to: Control.self)(setTracer, any, 0, 0, 0)

    // It has been seen to wait for ever for threads that had stopped, this one among them: a shell of its own ends it
    // then, and lets them go on.
    let command = """
        timeout --foreground -s KILL 60 gdb -iex 'set complaints 0' -p \(process) -batch -nx -ex 'thread apply all bt'
        status=$?
        kill -CONT \(process)
        exit $status
        """
    let words = ["sh", "-c", command]
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, 2, 1)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var shell: pid_t = 0
    guard posix_spawnp(&shell, "sh", &actions, nil, &arguments, environ) == 0 else { return false }
    var status: Int32 = 0
    while waitpid(shell, &status, 0) < 0, errno == EINTR {}
    return status == 0
}

/// Prints where the kernel says each thread waits: less than a stack, and always there.
private func printThreads() {
    guard let directory = opendir("/proc/self/task") else { return }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
        let thread = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        guard !thread.hasPrefix(".") else { continue }
        let facts = ["comm", "wchan", "syscall"].map { file in
            "\(file) \(SystemFiles.system.text("/proc/self/task/\(thread)/\(file)")?.split(separator: "\n").first ?? "?")"
        }
        report("thread \(thread): \(facts.joined(separator: ", "))\n")
    }
}
