//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// A gate that tasks wait at until a test opens it, once and for all. Waiting takes no notice of cancellation.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// A closed gate.
    public init() {}

    /// Lets everybody through, now and later.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until the gate is open.
    public func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// Lets other tasks run until `condition` holds: for what a test has a seam to look at, but nothing to wait on.
public func yieldUntil(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

/// Counts, from any task.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    /// At 0.
    public init() {}

    /// How far it has come.
    public var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more and answers how many that makes.
    @discardableResult
    public func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
}
