//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// Wakes one task that waits, for a time at most. A signal that comes before the wait is not lost.
final class WakeSignal: Sendable {
    fileprivate struct State {
        var isSignalled = false
        /// Counts the waits: what would end one must not end the next.
        var round = 0
        var waiting: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    /// Wakes the task that waits, or the next one to wait.
    func signal() {
        let waiting = state.withLock { state in
            state.isSignalled = state.waiting == nil
            return state.takeWaiting()
        }
        waiting?.resume(returning: true)
    }

    /// Waits for the signal, for `limit` at most, or until the task is cancelled.
    ///
    /// - Returns: whether the signal came.
    @discardableResult
    nonisolated(nonsending) func wait(atMost limit: Duration) async -> Bool {
        let round = begin()
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isSignalled {
                        state.isSignalled = false
                        return true
                    }
                    if Task.isCancelled { return false }
                    state.waiting = continuation
                    return nil
                }
                if let answer { return continuation.resume(returning: answer) }
                // Only now: a time that was over before the wait is noted would wake nobody.
                timer = Task {
                    do { try await Task.sleep(for: limit.bounded) } catch { return }
                    giveUp(round)
                }
            }
        } onCancel: {
            giveUp(round)
        }
    }

    /// Whether a task waits; for tests.
    var isAwaited: Bool { state.withLock { $0.waiting != nil } }

    /// Numbers a wait that begins.
    private func begin() -> Int {
        state.withLock { state in
            state.round += 1
            return state.round
        }
    }

    /// Ends the wait `round`, where it lasts: a timer of an earlier one may fire as late as it likes.
    func giveUp(_ round: Int) {
        state.withLock { $0.round == round ? $0.takeWaiting() : nil }?.resume(returning: false)
    }
}

extension WakeSignal.State {
    fileprivate mutating func takeWaiting() -> CheckedContinuation<Bool, Never>? {
        defer { waiting = nil }
        return waiting
    }
}

extension Duration {
    /// Clamped to a century in either direction: instants further away cannot be computed with, and sleeping until them
    /// ends at once.
    package var bounded: Duration {
        let century = Duration.seconds(3_155_760_000)
        return max(.zero - century, min(self, century))
    }
}
