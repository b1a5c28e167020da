//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A thread of its own; tasks would share threads and never be preempted in the middle of a read by one another.
///
/// `@unchecked Sendable`: the handle never changes, and the thread functions may be called from any thread. It is a
/// number with Glibc and an opaque pointer with Musl.
public struct StressThread: @unchecked Sendable {
    private let thread: pthread_t

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts `body` in a new thread.
    public init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(body)).toOpaque()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            },
            argument
        )
        precondition(error == 0, "no thread")
        self.thread = thread
    }

    /// Waits for its end. Once.
    public func join() { pthread_join(thread, nil) }

    /// Sends it a signal; it must not have been joined.
    public func interrupt(by signal: CInt) { pthread_kill(thread, signal) }
}

/// How a forked child ended.
public enum ForkOutcome { case right, wrong, stuck }

/// Runs `body` in a forked child, which has only the calling thread and must take no lock that others may hold: neither
/// the values' nor those by which the Swift runtime guards what it makes on first use, so that the process must have
/// run `body` before.
public func inForkedChild(_ body: () -> Bool) -> ForkOutcome {
    // Swift hides fork(2), for good reasons that do not hold for a test of it.
    typealias Fork = @convention(c) () -> pid_t
    let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
    let child = fork()
    if child == 0 {
        // Never let a deadlock in the child hang the run. The default action, whatever this process has inherited.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        signal(SIGALRM, SIG_DFL)
        alarm(60)
        _exit(body() ? 0 : 1)
    }
    guard child > 0 else { return .right }
    var status: CInt = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == SIGALRM ? .stuck : status == 0 ? .right : .wrong
}

/// Leaves without unwinding threads or freeing a hundred mebibytes piece by piece.
public func endProcess(status: CInt) -> Never {
    fflush(nil)
    _exit(status)
}
