//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The life of one load as a pure value: events go in, what is to be done comes out.
///
/// A flight is one load of one key. Callers *join* it, *suspend* until it lands, and may be *cancelled* meanwhile; a
/// removal or a newer value *revokes* it; in the end it *lands*. The machine holds no lock, starts no task and resumes
/// nobody: its owner calls it inside a lock, leaves the lock and then does what the answer says. So every interleaving
/// of events can be walked in a test, and no code of a user's can run inside the lock.
///
/// What holds in every state:
///
/// - Each waiter that was admitted is answered once: it is told of the landing, of the fallback, of the timeout, or
///   that it has left. Never of two.
/// - A waiter that may leave does so the moment it is cancelled, and alone: the others notice nothing.
/// - A waiter that cannot express a cancellation stays to the landing, but no longer counts as interested.
/// - When the last interested waiter goes, the flight is *abandoned*, once. A background flight never is.
/// - A fallback ends the wait of all who take one, and the flight goes on in the background.
/// - A flight that *times out* is abandoned too. Waiters who can be told of that are; others stay to the landing.
/// - A flight that was revoked, was abandoned or has landed admits nobody, so that nobody is handed a value from
///   before a removal, or the result of a load that was told to stop. The next caller starts a new flight.
/// - Only a flight that was neither revoked nor abandoned may put its result into the cache.
///
/// The shape is that of `Debounce` in swift-async-algorithms: storage, lock and machine apart.
///
/// `Resumption` is whatever wakes a suspended waiter: a continuation in the product, a name in tests.
package struct FlightMachine<Resumption> {
    /// The name of a waiter within its flight.
    package typealias WaiterID = Int

    /// How far the flight has come. It never goes back.
    package enum Phase: Int, Comparable, Sendable {
        /// Newcomers may share it.
        case admitting
        /// A removal or a newer value has overtaken the load: it goes on for those who wait, and its result stays out.
        case revoked
        /// Nobody is interested in the result any more, or the load has taken too long: it has been cancelled.
        case abandoned
        /// The load has ended and its outcome is known.
        case landed

        /// Whether `left` comes first.
        package static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// How far the flight has come.
    package private(set) var phase = Phase.admitting

    /// Whether newcomers may still share this flight.
    package var isAdmitting: Bool { phase == .admitting }
    /// Whether nobody is interested in the result of the load, which goes on.
    package var isAbandoned: Bool { phase == .abandoned }

    /// Whether the flight goes on without waiters, as the refresh of a stale value does.
    private var isBackground: Bool
    /// Whether the load has taken longer than callers with a fallback wait.
    package private(set) var isOverdue = false
    private var waiters: [Waiter] = []
    private var nextID: WaiterID = 0

    private struct Waiter {
        let id: WaiterID
        let mayLeave: Bool
        let mayTimeOut: Bool
        let takesFallback: Bool
        var isCancelled = false
        /// What it is told when it suspends, which came before that.
        var answer: Answer?
        var resumption: Resumption?

        /// Whether it wants the result of the load.
        var isInterested: Bool { !isCancelled && answer == nil }
    }

    /// What ends a wait before the landing, but for a cancellation.
    package enum Answer: Hashable, Sendable { case fallback, timeout }

    /// A flight that nobody has joined yet.
    package init(isBackground: Bool = false) {
        self.isBackground = isBackground
    }

    /// How many waiters still want the result.
    package private(set) var interestedCount = 0

    /// How many waiters have suspended and would be woken by a landing.
    package var suspendedCount: Int { waiters.count { $0.resumption != nil } }

    /// A caller asks to share the flight; nil if it comes too late and has to start another one.
    ///
    /// - Parameters:
    ///   - mayLeave: whether the caller can be told of its cancellation, that is, whether its error type can express
    ///     one.
    ///   - mayTimeOut: whether it can be told that the load takes too long.
    ///   - takesFallback: whether it wants a fallback rather than to wait longer.
    package mutating func join(
        mayLeave: Bool,
        mayTimeOut: Bool = false,
        takesFallback: Bool = false
    ) -> WaiterID? {
        guard isAdmitting else { return nil }
        defer { nextID += 1 }
        waiters.append(Waiter(id: nextID, mayLeave: mayLeave, mayTimeOut: mayTimeOut, takesFallback: takesFallback))
        interestedCount += 1
        return nextID
    }

    /// What to do with a waiter that is about to suspend.
    package enum SuspendAction {
        /// Nothing: it is woken later.
        case wait
        /// Wake it with the outcome of the load, which has landed already.
        case land(Resumption)
        /// Wake it with its own cancellation, which came before it suspended.
        case leave(Resumption)
        /// Wake it with what ended its wait before it suspended.
        case tell(Resumption, Answer)
    }

    /// A waiter has nothing more to do than wait.
    package mutating func suspend(_ id: WaiterID, _ resumption: Resumption) -> SuspendAction {
        guard let index = index(of: id) else { return .leave(resumption) }
        if let answer = waiters[index].answer {
            waiters.remove(at: index)
            return .tell(resumption, answer)
        }
        guard phase == .landed else {
            waiters[index].resumption = resumption
            return .wait
        }
        waiters.remove(at: index)
        return .land(resumption)
    }

    /// What a cancellation leads to.
    package struct CancelAction {
        /// The waiter to wake with its cancellation; nil if it stays, or has not suspended yet.
        package var leaving: Resumption?
        /// Whether to cancel the load: this was the last waiter who wanted its result.
        package var abandonsLoad = false
    }

    /// The task of a waiter was cancelled.
    package mutating func cancel(_ id: WaiterID) -> CancelAction {
        var action = CancelAction()
        guard phase < .landed, let index = index(of: id), waiters[index].isInterested else { return action }
        interestedCount -= 1
        if waiters[index].mayLeave {
            action.leaving = waiters.remove(at: index).resumption
        } else {
            waiters[index].isCancelled = true
        }
        if !isBackground, phase < .abandoned, interestedCount == 0 {
            phase = .abandoned
            action.abandonsLoad = true
        }
        return action
    }

    /// The key was removed or given another value: the load goes on for those who wait, its result stays out.
    package mutating func revoke() {
        phase = max(phase, .revoked)
    }

    /// The load takes longer than callers with a fallback wait.
    package mutating func becomeOverdue() { isOverdue = true }

    /// There is a fallback: answers the waiters to wake with it. The load goes on without them.
    package mutating func takeFallback() -> [Resumption] {
        guard phase < .landed else { return [] }
        let before = interestedCount
        let woken = tell(.fallback) { $0.takesFallback }
        if interestedCount < before { isBackground = true }
        return woken
    }

    /// The load takes too long, and is cancelled: answers the waiters to wake with that.
    package mutating func timeOut() -> [Resumption] {
        guard phase < .landed else { return [] }
        phase = .abandoned
        return tell(.timeout) { $0.mayTimeOut }
    }

    /// Ends the wait of some: answers those to wake, and notes it for those who have not suspended yet.
    private mutating func tell(_ answer: Answer, where isMeant: (Waiter) -> Bool) -> [Resumption] {
        var woken: [Resumption] = []
        for index in waiters.indices where waiters[index].answer == nil && isMeant(waiters[index]) {
            if !waiters[index].isCancelled { interestedCount -= 1 }
            waiters[index].answer = answer
            if let resumption = waiters[index].resumption { woken.append(resumption) }
        }
        waiters.removeAll { $0.answer != nil && $0.resumption != nil }
        return woken
    }

    /// The load has ended: answers the waiters to wake with its outcome.
    package mutating func land() -> [Resumption] {
        guard phase < .landed else { return [] }
        phase = .landed
        interestedCount = 0
        let woken = waiters.compactMap(\.resumption)
        waiters.removeAll { $0.resumption != nil }
        return woken
    }

    /// Where the waiter is, by bisection: waiters keep the order in which they joined, which is that of their names.
    private func index(of id: WaiterID) -> Int? {
        var (low, high) = (0, waiters.count)
        while low < high {
            let middle = (low + high) / 2
            if waiters[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < waiters.count && waiters[low].id == id ? low : nil
    }
}
