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
    /// There was no need for a load: another one had stored this value already.
    case present(Value)
    /// The waiter was cancelled and left; the load is not its business any more.
    case left
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
    /// Set once the result must stay out of the cache; the engine reads it under the lock that it stores under.
    let ticket: LoadTicket

    private let state: ForkSafeMutex<State>

    private struct State {
        var machine: FlightMachine<Continuation>
        var outcome: FlightOutcome<Value>?
    }

    /// A flight without waiters.
    ///
    /// - Parameters:
    ///   - target: what the result may be stored over.
    ///   - isBackground: whether the load goes on without waiters.
    init(key: Key, hash: Int, run: LoadRun, for target: LoadTicket.Target, isBackground: Bool) {
        self.key = key
        self.hash = hash
        self.run = run
        ticket = LoadTicket(for: target)
        state = ForkSafeMutex(State(machine: FlightMachine(isBackground: isBackground)))
    }

    /// How many callers have joined and still want the result.
    var waiterCount: Int { state.withLock { $0.machine.interestedCount } }

    /// How many of them have suspended.
    var suspendedCount: Int { state.withLock { $0.machine.suspendedCount } }

    /// Shares this flight; nil if it is too late for that.
    func join(mayLeave: Bool) -> Waiter? {
        state.withLock { $0.machine.join(mayLeave: mayLeave) }
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
        let (action, outcome) = state.withLock { state in
            (state.machine.suspend(waiter, continuation), state.outcome)
        }
        switch action {
        case .wait: break
        case .leave(let continuation): continuation.resume(returning: .left)
        case .land(let continuation): continuation.resume(returning: outcome ?? .absent)
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
