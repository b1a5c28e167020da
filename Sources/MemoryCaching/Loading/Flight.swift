//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// How a flight ended for one of its waiters.
enum FlightOutcome<Value: Sendable>: Sendable {
    /// The load returned the value.
    case value(Value)
    /// The load returned the value, but had asked for itself on the way: an error to all who can be told of it.
    case recursive(Value)
    /// The load threw.
    case failure(any Error)
    /// A bulk load returned without a value for this key.
    case absent
    /// The load failed or takes long, and this expired value was kept.
    case fallback(Value)
    /// There was no need for a load: another one had stored this value already.
    case present(Value)
    /// The waiter was cancelled and left; the load is not its business any more.
    case left
}

/// What a caller can be told before the load has ended, and what it wants to be.
struct WaiterTerms: Sendable {
    /// Whether its error type can express a cancellation.
    var mayLeave: Bool
    /// Whether its error type can express a timeout.
    var mayTimeOut: Bool
    /// Whether it wants a fallback rather than to wait longer.
    var takesFallback: Bool

    /// The terms of a caller with this error type.
    init<E: Error>(_: E.Type, takesFallback: Bool) {
        mayLeave = CancellationError() is E
        mayTimeOut = CacheLoadTimeoutError(key: "", timeout: .zero) is E
        self.takesFallback = takesFallback
    }
}

/// One load of one key that any number of callers share: the machine in its lock, and what follows from its answers.
///
/// Continuations are resumed, tasks cancelled and priorities raised after the lock is released.
final class Flight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Waiter = FlightMachine<Continuation>.WaiterID
    typealias Continuation = CheckedContinuation<FlightOutcome<Value>, Never>

    let key: Key
    let hash: Int
    let run: LoadRun
    /// What the load may throw.
    let failureType: any Error.Type
    /// Set once the result must stay out of the cache; the engine reads it under the lock that it stores under.
    let ticket: LoadTicket

    private let state: ForkSafeMutex<State>

    private struct State {
        var machine: FlightMachine<Continuation>
        /// What ends waits before the landing.
        var fallback: Value?
        var timeout: (any Error)?
        var outcome: FlightOutcome<Value>?
    }

    /// A flight without waiters.
    ///
    /// - Parameters:
    ///   - target: what the result may be stored over. The refresh of a stale value goes on without waiters.
    ///   - failureType: what the load may throw.
    init(key: Key, hash: Int, run: LoadRun, for target: LoadTicket.Target, throwing failureType: any Error.Type) {
        (self.key, self.hash, self.run, self.failureType) = (key, hash, run, failureType)
        ticket = LoadTicket(for: target)
        state = ForkSafeMutex(State(machine: FlightMachine(isBackground: ticket.isForRefresh)))
    }

    /// Whether the load replaces a stale value in the background.
    var isRefresh: Bool { ticket.isForRefresh }

    /// Whether a caller whose errors are of type `E` can be told of every error of the load.
    func canTell<E: Error>(_: E.Type) -> Bool {
        E.self == (any Error).self || failureType == Never.self || failureType is E.Type
    }

    /// How many callers have joined and still want the result.
    var waiterCount: Int { state.withLock { $0.machine.interestedCount } }

    /// How many of them have suspended.
    var suspendedCount: Int { state.withLock { $0.machine.suspendedCount } }

    /// Shares this flight; nil if it is too late for that.
    func join(_ terms: WaiterTerms) -> Waiter? {
        state.withLock {
            $0.machine.join(
                mayLeave: terms.mayLeave,
                mayTimeOut: terms.mayTimeOut,
                takesFallback: terms.takesFallback
            )
        }
    }

    /// Waits for the landing, or for the cancellation of the waiting task where the waiter may leave.
    nonisolated(nonsending) func outcome(for waiter: Waiter) async -> FlightOutcome<Value> {
        await withTaskCancellationHandler {
            await withEscalationHandler {
                await withCheckedContinuation { suspend(waiter, $0) }
            } onEscalation: { priority in
                self.run.escalate(to: priority)
            }
        } onCancel: {
            cancel(waiter)
        }
    }

    private func suspend(_ waiter: Waiter, _ continuation: Continuation) {
        let (action, outcome, fallback, timeout) = state.withLock { state in
            (state.machine.suspend(waiter, continuation), state.outcome, state.fallback, state.timeout)
        }
        switch action {
        case .wait: break
        case .leave(let continuation): continuation.resume(returning: .left)
        case .land(let continuation): continuation.resume(returning: outcome ?? .absent)
        case .tell(let continuation, .fallback):
            continuation.resume(returning: fallback.map { .fallback($0) } ?? .absent)
        case .tell(let continuation, .timeout):
            continuation.resume(returning: timeout.map { .failure($0) } ?? .absent)
        }
    }

    /// The waiter's task was cancelled, or it needs the result no more.
    func cancel(_ waiter: Waiter) {
        let action = state.withLock { state in
            let action = state.machine.cancel(waiter)
            if action.abandonsLoad { ticket.revoke() }
            return action
        }
        action.leaving?.resume(returning: .left)
        if action.abandonsLoad { run.abandonOne() }
    }

    /// The key was removed or set: newcomers start afresh, and the result stays out of the cache.
    func revoke() {
        state.withLock { state in
            state.machine.revoke()
            ticket.revoke()
        }
    }

    /// Whether newcomers may still share this flight.
    var isAdmitting: Bool { state.withLock { $0.machine.isAdmitting } }

    /// Whether the load has taken longer than callers with a fallback wait.
    var isOverdue: Bool { state.withLock { $0.machine.isOverdue } }

    /// The load takes longer than callers with a fallback wait: `fallback` is looked up after that is known, and those
    /// who wait are answered with it where there is one.
    func becomeOverdue(_ fallback: () -> Value?) {
        state.withLock { $0.machine.becomeOverdue() }
        guard let value = fallback() else { return }
        let woken = state.withLock { state in
            state.fallback = value
            return state.machine.takeFallback()
        }
        for continuation in woken { continuation.resume(returning: .fallback(value)) }
    }

    /// The load takes too long: its result stays out of the cache. Returns those who wait and can be told of `error`:
    /// to be resumed with it once the load is cancelled.
    func timeOut(_ error: any Error) -> [Continuation] {
        state.withLock { state in
            state.timeout = error
            ticket.revoke()
            return state.machine.timeOut()
        }
    }

    /// The load has ended: tells everybody.
    func land(_ outcome: FlightOutcome<Value>) {
        let woken = state.withLock { state in
            let woken = state.machine.land()
            state.outcome = outcome
            return woken
        }
        for continuation in woken { continuation.resume(returning: outcome) }
    }
}
