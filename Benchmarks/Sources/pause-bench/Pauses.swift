//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The longest of a thread's calls, in nanoseconds of wall time, waiting for locks included.
///
/// A call is *undisturbed* where the kernel took the thread off its core neither in it nor in the few calls before:
/// what a caller waits for others on its core says nothing of the cache. It is *unshared* where that holds for all
/// threads of the process: else it may have waited for one that was taken off its core with a lock in its hands. A
/// virtual machine that is itself taken off its core looks undisturbed from inside; the control shows how long that
/// takes.
struct Pauses: Sendable {
    private(set) var calls = 0
    private(set) var worst: Int64 = 0
    private(set) var worstUndisturbed: Int64 = 0
    private(set) var worstUnshared: Int64 = 0
    /// Undisturbed calls of a millisecond or longer.
    private(set) var overOneMillisecond = 0

    /// Calls between two questions for switches: some 10 ns a call.
    private static let interval = 64
    private var switches = InvoluntarySwitches()
    private var last = nanoseconds()

    /// Times the calls made since the last one; begin with `resume` after anything else.
    @inline(__always)
    mutating func call() {
        let now = nanoseconds()
        let length = now - last
        last = now
        calls += 1
        if length > worst || length >= 1_000_000 { note(length) }
        if calls % Self.interval == 0 { switches = InvoluntarySwitches() }
    }

    /// What came since the last call is not counted.
    mutating func resume() {
        switches = InvoluntarySwitches()
        last = nanoseconds()
    }

    @inline(never)
    private mutating func note(_ length: Int64) {
        worst = max(worst, length)
        let present = InvoluntarySwitches()
        if present == switches { worstUnshared = max(worstUnshared, length) }
        if present.ofThread == switches.ofThread {
            worstUndisturbed = max(worstUndisturbed, length)
            if length >= 1_000_000 { overOneMillisecond += 1 }
        }
        switches = present
        last = nanoseconds()
    }
}
