//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization

/// A value of whatever type on its way through a miss, which knows none of the types: it is compiled once then, and not
/// interpreted for each of them.
@usableFromInline
protocol Parcel: AnyObject, Sendable {}

/// The only kind of parcel there is.
@usableFromInline
final class Packed<Value: Sendable>: Parcel {
    @usableFromInline let value: Value

    @inlinable
    init(_ value: Value) { self.value = value }

    /// Takes values out of parcels that are of this type: there is no other kind, and a flight has those of one type.
    ///
    /// The type is looked up once, and not for each parcel.
    @inlinable
    static func unpacking() -> @Sendable (any Parcel) -> Value {
        let type: any Parcel.Type = Packed<Value>.self
        return { parcel in
            precondition(Swift.type(of: parcel) == type, "A flight of another type of values.")
            return unsafeDowncast(parcel, to: Packed<Value>.self).value
        }
    }
}

/// How a flight ended for one of its waiters.
enum TierOutcome: Sendable {
    case value(any Parcel)
    case failure(any Error)
    /// The waiter was cancelled and left.
    case left

    /// What the flight failed with.
    var error: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}

/// One miss of one key that any number of callers share: the single-flight machine in its lock, the permission to keep
/// what it reads, and the signal that its key has changed.
///
/// Continuations are resumed and the task is cancelled after the lock is released.
final class TierFlight: Sendable, Equatable {
    typealias Continuation = CheckedContinuation<TierOutcome, Never>
    typealias Waiter = FlightMachine<Continuation>.WaiterID

    /// Nil where nobody may share the flight: such a one waits for no other process.
    let wake: WakeSignal?
    /// Whether the key has been changed since the flight began, as far as this process knows; a lost connection is no
    /// change. Once it has, the flight serves no fallback any more, and need not hear of further changes.
    let hasChanged = Atomic<Bool>(false)

    private let state: Mutex<State>

    private struct State {
        /// Nil where nobody may share the flight.
        var machine: FlightMachine<Continuation>?
        /// Near entries have no lifetime of the engine's, which is what the ticket has to know of the entry that it
        /// replaces.
        var ticket = LoadTicket(replacing: .max)
        var outcome: TierOutcome?
        var task: Task<Void, Never>?
        /// What traces show of the course; nil before it has begun, and where nobody traces.
        var span: LoadSpan?
    }

    /// A flight that nobody has joined yet.
    ///
    /// - Parameter isShared: whether anybody may; a lookup that asks the remote tier alone has no value to offer where
    ///   that has none.
    init(isShared: Bool = true) {
        state = Mutex(State(machine: isShared ? FlightMachine() : nil))
        wake = isShared ? WakeSignal() : nil
    }

    static func == (left: TierFlight, right: TierFlight) -> Bool { left === right }

    /// The permission to keep what the flight reads; taken back, and given anew, inside the near machine's lock.
    var ticket: LoadTicket { state.withLock { $0.ticket } }

    /// Gives permission again: the flight is filed anew, and asks from here on.
    func renewTicket() { state.withLock { $0.ticket = LoadTicket(replacing: .max) } }

    /// Shares this flight; nil if it is too late for that.
    func join() -> Waiter? { state.withLock { $0.machine?.join(mayLeave: true) } }

    /// The span of the course; nil where nobody traces.
    var span: LoadSpan? { state.withLock { $0.span } }

    /// Makes the miss in a task of its own, which inherits the caller's task-local values.
    func start(_ span: LoadSpan?, _ course: @escaping @Sendable () async -> Void) {
        // Before anybody can be answered: who has waited links to it.
        if span != nil { state.withLock { $0.span = span } }
        let task = Task {
            await LoadSpan.run(course, in: span)
            span?.end(state.withLock { $0.outcome }?.error)
        }
        let isAbandoned = state.withLock { state in
            state.task = task
            return state.machine?.isAbandoned ?? false
        }
        if isAbandoned { task.cancel() }
    }

    /// The result must not be kept, as the ticket says by now: newcomers start another flight.
    func revoke() {
        revokeSharing()
        wake?.signal()
    }

    /// Waits for the landing, or for the cancellation of the waiting task.
    nonisolated(nonsending) func outcome(for waiter: Waiter) async -> TierOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (action, outcome) = state.withLock {
                    ($0.machine?.suspend(waiter, continuation) ?? .leave(continuation), $0.outcome)
                }
                switch action {
                case .wait: break
                // A tier has timeouts of its own, and tells of them by the landing.
                case .leave(let continuation), .tell(let continuation, _): continuation.resume(returning: .left)
                case .land(let continuation): continuation.resume(returning: outcome ?? .left)
                }
            }
        } onCancel: {
            let (action, task) = state.withLock { ($0.machine?.cancel(waiter), $0.task) }
            action?.leaving?.resume(returning: .left)
            if action?.abandonsLoad ?? false { task?.cancel() }
        }
    }

    /// Answers the waiters.
    func land(_ outcome: TierOutcome) {
        let woken = state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
            return state.machine?.land() ?? []
        }
        for continuation in woken { continuation.resume(returning: outcome) }
    }

    /// Keeps newcomers out, and nothing else.
    func revokeSharing() { state.withLock { $0.machine?.revoke() } }

    /// Whether newcomers may still share this flight.
    var isAdmitting: Bool { state.withLock { $0.machine?.isAdmitting ?? false } }

    /// How many callers still want the result: what tests wait for.
    var waiterCount: Int { state.withLock { $0.machine?.interestedCount ?? 0 } }
}
