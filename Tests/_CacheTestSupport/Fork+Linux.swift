//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// fork(2), which Swift's importer hides because so little may be done in the child.
public func forkForTests() -> Int32 {
    typealias Fork = @convention(c) () -> Int32
    return unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
}

/// Runs `body` in a child of this process, which then exits with 0; returns the child's status as waitpid(2) has it. A
/// child that hangs is killed after a time that is far longer than it takes on a slow and busy machine.
public func statusOfChild(_ body: () -> Void) -> Int32 {
    let child = forkForTests()
    precondition(child >= 0, "fork failed")
    if child == 0 {
        body()
        _exit(0)
    }
    var status: Int32 = 0
    for _ in 0..<60_000 {
        if waitpid(child, &status, WNOHANG) == child { return status }
        usleep(1000)
    }
    kill(child, SIGKILL)
    waitpid(child, &status, 0)
    return status
}

/// Runs `body` in a child of this process and answers what it returns; nil where the child did not come so far.
public func exitCodeOfChild(_ body: () -> Int32) -> Int32? {
    let status = statusOfChild { _exit(body()) }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
}

/// The status of a child that hung.
public let statusOfHungChild: Int32 = 9
#endif
