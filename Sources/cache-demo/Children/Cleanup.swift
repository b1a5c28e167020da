//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import Dispatch
import Foundation
import Glibc
import Synchronization

/// Removes what must not outlive this process, children and cgroups, when it ends or is told to stop.
enum Cleanup {
    private struct Things {
        /// Nothing new begins once it is set: the end must not race with the next child.
        var isOver = false
        var children: [ChildProcess] = []
        var groups: [ControlGroup] = []
        var undo: [@Sendable () -> Void] = []
    }

    private static let things = Mutex(Things())
    private static let isInterrupted = Atomic(false)

    /// Starts a child, so that there is no moment at which it lives and is not on the list.
    static func start(_ child: ChildProcess, _ start: () throws -> Void) throws {
        try things.withLock { things in
            guard !things.isOver else { throw CancellationError() }
            try start()
            things.children.append(child)
        }
    }

    /// Makes a group, likewise.
    static func make(_ group: ControlGroup, limit: Int) throws {
        try things.withLock { things in
            guard !things.isOver else { throw CancellationError() }
            try group.make(limit: limit)
            things.groups.append(group)
        }
    }

    /// Registers what is to be done after every group is gone.
    static func add(undo: @escaping @Sendable () -> Void) { things.withLock { $0.undo.append(undo) } }

    /// How everything begins that this program makes outside itself; the number of its process follows.
    static let prefix = "cache-demo-"

    /// What earlier runs left in `directory`, because they were killed before they could remove it.
    static func orphans(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { name in
            guard name.hasPrefix(prefix), let owner = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }) else {
                return false
            }
            return owner != getpid() && kill(owner, 0) != 0 && errno == ESRCH
        }.map { "\(directory)/\($0)" }
    }

    /// Removes everything. Where an interruption is ending the program, that one has the last word.
    static func finish() {
        while isInterrupted.load(ordering: .acquiring) { pause() }
        removeAll()
    }

    private static func removeAll() {
        let ended = things.withLock { things in
            things.isOver = true
            defer { (things.groups, things.undo) = ([], []) }
            return things
        }
        ended.children.forEach { $0.kill() }
        ended.groups.forEach { $0.remove() }
        ended.undo.forEach { $0() }
    }

    /// Ends the program in good order when the keyboard, a supervisor or a terminal that went away asks for it.
    ///
    /// It returns once the signals are heard. Dispatch begins to listen a while after `resume`, and on a busy machine
    /// that while is long. Until then a signal ends the program at once, as it may: nothing is made yet.
    static func handleSignals() async -> [any DispatchSourceSignal] {
        signal(SIGPIPE, SIG_IGN)
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler {
                isInterrupted.store(true, ordering: .releasing)
                removeAll()
                Screen.leave()
                // The shell's convention: 128 and the signal's number.
                _exit(128 + number)
            }
            await withCheckedContinuation { listening in
                source.setRegistrationHandler { listening.resume() }
                source.resume()
            }
            sources.append(source)
        }
        return sources
    }
}
