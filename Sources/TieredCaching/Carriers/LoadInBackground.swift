//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// A call of the origin that can be waited for more than once, each time for a while. It is cancelled with the task
/// that waits for it.
final class LoadInBackground<Value: Sendable>: Sendable {
    private let state = Mutex<Result<Value, any Error>?>(nil)
    private let ended = WakeSignal()
    private let load: @Sendable () async throws -> Value
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ load: @escaping @Sendable () async throws -> Value) { self.load = load }

    /// What the load ended with; nil if it takes longer than `limit`.
    nonisolated(nonsending) func result(within limit: Duration?) async -> Result<Value, any Error>? {
        guard let limit else { return await finish() }
        if task.withLock({ $0 == nil }) {
            let task = Task {
                let result = await run()
                state.withLock { $0 = result }
                ended.signal()
            }
            self.task.withLock { $0 = task }
        }
        await ended.wait(atMost: limit)
        return state.withLock { $0 }
    }

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
