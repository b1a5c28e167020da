//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
import Synchronization

/// One call of a user's load closure and the task that makes it, for one key or for many.
///
/// The task exists a moment later than the run: the flights of a run are published first, so that nobody starts a
/// second load meanwhile. What waiters want of the task in that moment is remembered until there is one.
final class LoadRun: Sendable {
    /// Whether somebody inside the load asked for what it loads, in a place that could not throw.
    let foundRecursion = Atomic<Bool>(false)

    private let ended = Atomic<Bool>(false)
    /// Stored once, before the task starts: so it takes no lock.
    private let ownSpan = AtomicLazyReference<LoadSpan>()
    private let state: ForkSafeMutex<State>

    private struct State {
        var task: Task<Void, Never>?
        /// Flights whose result somebody still wants; the task is cancelled when the last one is abandoned.
        var flights = 0
        var isCancelled = false
        var priority: TaskPriority
    }

    /// A run whose task will start with `priority`.
    init(priority: TaskPriority) {
        state = ForkSafeMutex(State(priority: priority))
    }

    /// One more flight depends on this run.
    func add() {
        state.withLock { $0.flights += 1 }
    }

    /// One of the flights has landed without the load, which therefore need not go on for it.
    func withdrawOne() {
        state.withLock { $0.flights -= 1 }
    }

    /// Nobody wants the result of one of the flights any more.
    func abandonOne() {
        let isLast = state.withLock { state in
            state.flights -= 1
            return state.flights == 0
        }
        if isLast { cancel() }
    }

    /// The load has returned, or has taken too long; false if it has ended already.
    func end() -> Bool { !ended.exchange(true, ordering: .acquiringAndReleasing) }

    /// The span of the load; nil before it has begun, and where nobody traces.
    var span: LoadSpan? { ownSpan.load() }

    /// The load is about to start, and has this span. To be called before anything can end the load.
    func begin(_ span: LoadSpan?) {
        if let span { _ = ownSpan.storeIfNil(span) }
    }

    /// Cancels the task, or has it cancelled as soon as there is one.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Somebody more urgent waits now.
    func escalate(to priority: TaskPriority) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard priority > state.priority else { return nil }
            state.priority = priority
            return state.task
        }
        task?.raisePriority(to: priority)
    }

    /// Starts the task; it inherits the caller's priority and task-local values.
    func start(_ operation: @escaping @Sendable () async -> Void) {
        let span: LoadSpan? = span
        let task = Task { await LoadContext.inside(self) { await LoadSpan.run(operation, in: span) } }
        let (isCancelled, priority) = state.withLock { state in
            state.task = task
            return (state.isCancelled, state.priority)
        }
        if isCancelled { task.cancel() }
        task.raisePriority(to: priority)
    }
}
