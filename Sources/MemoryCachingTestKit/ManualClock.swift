//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// A clock that stands still until a test moves it.
///
/// Give it to a cache as `MemoryCacheOptions.clock`, and lifetimes and timeouts are tested without waiting:
///
/// ```swift
/// let clock = ManualClock()
/// let cache = MemoryCache<String, Int>(options: .init(expiresAfter: .seconds(60), clock: clock))
/// cache["a"] = 1
/// clock.advance(by: .seconds(60))
/// #expect(cache["a"] == nil)
/// ```
///
/// **Promises.** All members may be used from any thread at any time. The clock moves only forward: no thread reads a
/// moment that is earlier than one it has read before. A sleep ends when the clock reaches its deadline, never earlier,
/// or as soon as its task is cancelled, with a `CancellationError`; one whose deadline has come already does not
/// suspend. One call of ``advance(by:)`` resumes sleepers in the order of their deadlines, and those of one deadline in
/// the order in which they fell asleep. They run when their executors get to them, usually after the call has returned,
/// and read the moment that the clock was moved to, not their deadlines. A task that goes to sleep again sleeps from
/// then on.
public final class ManualClock: Clock, Sendable {
    /// A moment, counted from the clock's beginning.
    public struct Instant: InstantProtocol {
        /// How long after the beginning.
        public var offset: Duration

        /// The moment `offset` after the beginning.
        public init(offset: Duration = .zero) { self.offset = offset }

        /// This moment and `duration` more.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// How much later `other` is.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether `left` is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let id: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        /// By deadline; those of one deadline as they came.
        var sleepers: [Sleeper] = []
        /// Sleeps that were cancelled before they suspended.
        var cancelled: Set<Int> = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// A clock at its beginning.
    public init() {}

    /// The moment it shows.
    public var now: Instant { state.withLock { $0.now } }

    /// A nanosecond. The clock itself is exact.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// How many tasks sleep by this clock.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Lets other tasks run until at least `count` tasks sleep by this clock.
    ///
    /// Code under test has to be asleep before a test moves the clock: if it falls asleep later, it waits for a later
    /// moment.
    ///
    /// - Throws: `CancellationError` if the calling task is cancelled meanwhile.
    public func waitForSleepers(_ count: Int = 1) async throws {
        while sleeperCount < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Moves the clock, and wakes those whose time has come.
    ///
    /// - Parameter duration: how far.
    /// - Precondition: `duration` is not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "A ManualClock moves only forward.")
        advance { $0.advanced(by: duration) }
    }

    /// Moves the clock to `instant`, and wakes those whose time has come. A clock that shows a later moment stays
    /// there.
    public func advance(to instant: Instant) {
        advance { max($0, instant) }
    }

    private func advance(_ next: (Instant) -> Instant) {
        let due = state.withLock { state in
            state.now = next(state.now)
            let due = state.sleepers.prefix { $0.deadline <= state.now }
            state.sleepers.removeFirst(due.count)
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Sleeps until the clock is moved to `deadline` or the task is cancelled.
    ///
    /// - Parameters:
    ///   - deadline: the moment to sleep until.
    ///   - tolerance: not used: the clock is exact.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        defer { state.withLock { _ = $0.cancelled.remove(id) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { suspend(id, until: deadline, $0) }
        } onCancel: {
            cancel(id)
        }
    }

    private func suspend(_ id: Int, until deadline: Instant, _ continuation: CheckedContinuation<Void, any Error>) {
        let result: Result<Void, any Error>? = state.withLock { state in
            if state.cancelled.contains(id) { return .failure(CancellationError()) }
            if deadline <= state.now { return .success(()) }
            let place = state.sleepers.firstIndex { $0.deadline > deadline } ?? state.sleepers.endIndex
            state.sleepers.insert(Sleeper(id: id, deadline: deadline, continuation: continuation), at: place)
            return nil
        }
        if let result { continuation.resume(with: result) }
    }

    private func cancel(_ id: Int) {
        let sleeper = state.withLock { state -> Sleeper? in
            guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.sleepers.remove(at: index)
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
