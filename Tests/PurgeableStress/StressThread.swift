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
struct StressThread {
    private let thread: pthread_t

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    init(_ body: @escaping @Sendable () -> Void) {
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

    func join() { pthread_join(thread, nil) }
}

/// Runs `body` in a forked child, which has only the calling thread and must take no lock that others may hold.
/// Answers whether it returned true.
func forkedChildSucceeds(_ body: () -> Bool) -> Bool {
    // Swift hides fork(2), for good reasons that do not hold for a test of it.
    typealias Fork = @convention(c) () -> pid_t
    let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
    let child = fork()
    if child == 0 {
        // Never let a deadlock in the child hang the run.
        alarm(20)
        _exit(body() ? 0 : 1)
    }
    guard child > 0 else { return true }
    var status: CInt = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status == 0
}

/// Leaves without unwinding threads or freeing a hundred mebibytes piece by piece.
func endProcess(status: CInt) -> Never {
    fflush(nil)
    _exit(status)
}
