//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Glibc
import Synchronization

/// Everything that must not outlive this process: children and cgroups. One list, so that an interruption finds all.
final class LiveThings: Sendable {
    static let shared = LiveThings()

    private struct Contents {
        /// Once closed, nothing new begins: an interruption must not race with the next child.
        var closed = false
        var children: Set<pid_t> = []
        var groups: [ControlGroup] = []
        var undo: [@Sendable () -> Void] = []
    }

    private let contents = Mutex(Contents())

    /// Starts a child with `spawn`, so that there is no moment at which it lives and is not on the list.
    func startChild(_ spawn: () throws -> pid_t) throws -> pid_t {
        try contents.withLock { contents in
            guard !contents.closed else { throw CancellationError() }
            let child = try spawn()
            contents.children.insert(child)
            return child
        }
    }

    /// Makes a group with `make`, likewise.
    func makeGroup(_ make: () throws -> ControlGroup) throws -> ControlGroup {
        try contents.withLock { contents in
            guard !contents.closed else { throw CancellationError() }
            let group = try make()
            contents.groups.append(group)
            return group
        }
    }

    /// Registers what is to be done last, after every group is gone.
    func add(undo: @escaping @Sendable () -> Void) { contents.withLock { $0.undo.append(undo) } }

    /// Removes a group whose processes have ended.
    func remove(group: ControlGroup) {
        if group.remove() { contents.withLock { $0.groups.removeAll { $0 == group } } }
    }

    /// Kills a child; one that has been reaped already is left alone, for its number may be another's by now.
    func kill(_ child: pid_t) {
        contents.withLock { if $0.children.contains(child) { Glibc.kill(child, SIGKILL) } }
    }

    /// Waits for the end of a child.
    func reap(_ child: pid_t) -> ChildProcess.End {
        // First wait without reaping, so that its number stays its own until it is off the list.
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        return contents.withLock {
            var status: CInt = 0
            while waitpid(child, &status, 0) < 0 && errno == EINTR {}
            $0.children.remove(child)
            let signal = status & 0x7F
            return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
        }
    }

    /// Kills every child, removes every group and lets nothing new begin. Returns what could not be removed.
    @discardableResult
    func removeAll() -> [ControlGroup] {
        let (groups, undo) = contents.withLock { contents in
            contents.closed = true
            for child in contents.children { Glibc.kill(child, SIGKILL) }
            defer { contents.undo = [] }
            return (contents.groups, contents.undo)
        }
        // The kernel keeps a group busy until its processes are gone: `remove` waits for that.
        let left = groups.filter { !$0.remove() }
        contents.withLock { $0.groups = left }
        undo.forEach { $0() }
        return left
    }
}
