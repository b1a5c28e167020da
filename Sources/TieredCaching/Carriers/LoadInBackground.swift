//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// A call of the origin that can be waited for more than once, each time for a while.
///
/// It is cancelled with the task of the flight that began it, until that leaves it to others: then it goes on for
/// whoever asks next.
final class LoadInBackground<Value: Sendable>: Sendable {
    /// What came of waiting for a load.
    enum Outcome {
        case ended(Result<Value, any Error>)
        /// It takes longer than the limit, and goes on.
        case isSlow
        /// The task that waits was cancelled; the load goes on.
        case left
    }

    private let state = Mutex<Result<Value, any Error>?>(nil)
    /// Several flights may wait, one after the other and for a moment at once.
    private let ended = ChangeSignal()
    private let load: @Sendable () async throws -> Value
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ load: @escaping @Sendable () async throws -> Value) { self.load = load }

    /// Waits for the end of the load, for `limit` at most where there is one.
    ///
    /// - Parameter isOwn: whether the load is cancelled with the task that waits.
    nonisolated(nonsending) func outcome(within limit: Duration?, isOwn: Bool) async -> Outcome {
        if limit == nil, isOwn { return .ended(await finish()) }
        if task.withLock({ $0 == nil }) {
            let task = Task {
                let result = await run()
                state.withLock { $0 = result }
                ended.signal()
            }
            self.task.withLock { $0 = task }
        }
        let found = await ended.first(within: limit ?? .seconds(Int64.max)) { state.withLock { $0 } }
        if let found { return .ended(found) }
        if !Task.isCancelled { return .isSlow }
        // A load that others may take over is not in anybody's hand.
        return isOwn ? .ended(await finish()) : .left
    }

    /// How many flights wait for a load in the background; for tests.
    var waiterCount: Int { ended.waiterCount }

    /// Waits until a load that has begun in the background has ended.
    nonisolated(nonsending) func end() async { await task.withLock { $0 }?.value }

    private nonisolated(nonsending) func finish() async -> Result<Value, any Error> {
        guard let task = task.withLock({ $0 }) else { return await run() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return state.withLock { $0 } ?? .failure(CancellationError())
    }

    private nonisolated(nonsending) func run() async -> Result<Value, any Error> {
        do { return .success(try await load()) } catch { return .failure(error) }
    }
}

/// Loads that go on though their flights have landed, by key: a fallback has answered, and the remote tier, which
/// fails, gives no lease that would keep the next flight from asking the origin again. That flight takes over the load.
final class LoadsUnderWay: Sendable {
    typealias Load = LoadInBackground<any Parcel>
    private let loads = Mutex<[KeyName: Load]>([:])

    subscript(name: String) -> Load? { loads.withLock { $0[KeyName(name)] } }

    /// Adds a load that has begun, until it ends.
    func add(_ load: Load, forKey name: String) {
        let isNew = loads.withLock { loads in
            defer { loads[KeyName(name)] = load }
            return loads[KeyName(name)] !== load
        }
        guard isNew else { return }
        Task { [weak self] in
            await load.end()
            self?.remove(load, forKey: name)
        }
    }

    /// The key has changed: what was begun before is no value of it any more.
    func forget(_ name: String) {
        let load = loads.withLock { $0.removeValue(forKey: KeyName(name)) }
        withExtendedLifetime(load) {}
    }

    /// All keys have changed.
    func forgetAll() {
        // Let go of outside the lock: a load's captures may run code of the user's.
        let all = loads.withLock { loads in
            defer { loads = [:] }
            return loads
        }
        withExtendedLifetime(all) {}
    }

    private func remove(_ load: Load, forKey name: String) {
        let removed = loads.withLock { $0[KeyName(name)] === load ? $0.removeValue(forKey: KeyName(name)) : nil }
        withExtendedLifetime(removed) {}
    }
}
