//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// What has work for the one thread: descriptors to wait on, deadlines to keep.
package protocol PressureThreadClient: AnyObject, Sendable {
    /// The descriptors to wait on, and for what; asked before every wait.
    var descriptors: [PolledDescriptor] { get }

    /// Does what is due: called once after attaching, after every wake, and when the deadline that it returned has
    /// come. `ready` are those of its descriptors that have news.
    ///
    /// - Returns: when to be called again, in monotonic nanoseconds; nil to wait for news alone.
    func turn(now: UInt64, ready: [PolledDescriptor]) -> UInt64?
}

/// A descriptor and what to wait for on it.
package struct PolledDescriptor: Sendable, Hashable {
    package var descriptor: Int32
    /// POLLIN or POLLPRI to wait for; what came in ``PressureThreadClient/turn(now:ready:)``.
    package var events: Int16

    package init(descriptor: Int32, events: Int16) {
        self.descriptor = descriptor
        self.events = events
    }
}

/// The one thread of the process that waits for memory to become short.
///
/// - It is started by the first client and ends after the last: a process that never caches never has it.
/// - No news is lost between looking and waiting. Whoever has news makes the eventfd readable *after* leaving the news
///   where a turn will find it; the wait begins only with the eventfd among its descriptors; and the eventfd is
///   emptied before the turns, never after. So a wake that comes at any moment either is seen by the turn under way
///   or ends the next wait at once.
/// - It survives fork without exec by not surviving: a child has no such thread, and ``shared`` is another object there
///   with no clients, so that nobody waits for a thread that does not exist. What was attached before the fork must be
///   attached again; ``ForkGeneration`` tells its clients.
package final class PressureThread: Sendable {
    private struct State {
        var clients: [any PressureThreadClient] = []
        /// What the thread is to release.
        var discarded: [any AnyObject & Sendable] = []
        var wake: WakeDescriptor?
        var thread: UInt?
        /// Tells a thread that was let go while it ended that another has taken over.
        var incarnation = 0
    }

    private let state = ForkSafeMutex(State())

    /// The process's own.
    package static var shared: PressureThread { perProcess.value }
    private static let perProcess = PerProcess { PressureThread() }

    package init() {}

    /// Whether the thread runs; for tests.
    package var isRunning: Bool { state.withLock { $0.wake != nil } }

    /// Whether the calling thread is the one.
    package var isCurrent: Bool { state.withLock { $0.thread == Platform.currentThreadNumber } }

    /// Adds a client, and starts the thread for the first one. False where the system refuses a thread.
    @discardableResult
    package func attach(_ client: any PressureThreadClient) -> Bool {
        let started = state.withLock { state in
            if !state.clients.contains(where: { $0 === client }) { state.clients.append(client) }
            if let wake = state.wake {
                wake.signal()
                return true
            }
            guard let wake = WakeDescriptor() else { return false }
            state.wake = wake
            state.incarnation += 1
            let incarnation = state.incarnation
            if Platform.startThread(named: "memory-pressure", { [self] in run(wake, incarnation) }) { return true }
            state.wake = nil
            return false
        }
        if !started { detach(client) }
        return started
    }

    /// Removes a client; the thread ends after its last. A turn of the client may still be under way on return.
    package func detach(_ client: any PressureThreadClient) {
        state.withLock { state in
            state.clients.removeAll { $0 === client }
            guard state.clients.isEmpty, let wake = state.wake else { return }
            state.wake = nil
            wake.signal()
        }
    }

    /// Takes `objects` and releases them on the thread; leaves them where there is none. For sources, because the
    /// kernel lets whoever closes a pressure file wait for all its readers (24 ms on Linux 6.18). Before
    /// ``detach(_:)``, which may end the thread.
    package func release(_ objects: inout [any AnyObject & Sendable]) {
        guard !objects.isEmpty else { return }
        state.withLock { state in
            guard let wake = state.wake else { return }
            state.discarded += objects
            // Before the thread can take them: else the caller could have the last reference.
            objects = []
            wake.signal()
        }
    }

    private func releaseDiscarded() {
        let discarded = state.withLock { state in
            defer { state.discarded = [] }
            return state.discarded
        }
        withExtendedLifetime(discarded) {}
    }

    /// Gives every client a turn soon: for news that no descriptor tells of.
    package func wake() { state.withLock { $0.wake?.signal() } }

    private func run(_ wake: WakeDescriptor, _ incarnation: Int) {
        state.withLock { state in
            if state.incarnation == incarnation { state.thread = Platform.currentThreadNumber }
        }
        var deadlines: [ObjectIdentifier: UInt64] = [:]
        var known: Set<ObjectIdentifier> = []
        while true {
            let clients = state.withLock { state in
                state.incarnation == incarnation && state.wake != nil ? state.clients : []
            }
            releaseDiscarded()
            if clients.isEmpty { return }

            let identities = Set(clients.map { ObjectIdentifier($0) })
            let hasNewcomers = !identities.isSubset(of: known)
            known = identities
            let descriptors = clients.map(\.descriptors)
            let deadline = clients.compactMap { deadlines[ObjectIdentifier($0)] }.min()
            let polled = Platform.poll(
                [wake.polled] + descriptors.flatMap { $0 },
                until: hasNewcomers ? 0 : deadline
            )
            let woken = polled.contains { $0.descriptor == wake.polled.descriptor }
            if woken { wake.clear() }

            let now = Platform.monotonicNanoseconds()
            for (client, own) in zip(clients, descriptors) {
                let ready = polled.filter { news in own.contains { $0.descriptor == news.descriptor } }
                let identity = ObjectIdentifier(client)
                let isDue = deadlines[identity].map { $0 <= now } ?? false
                guard woken || hasNewcomers || isDue || !ready.isEmpty else { continue }
                deadlines[identity] = client.turn(now: now, ready: ready)
            }
        }
    }
}
