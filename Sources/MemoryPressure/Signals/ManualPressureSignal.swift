//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// A signal that says what it is told: for tests and demonstrations.
///
/// ```swift
/// let signal = ManualPressureSignal()
/// let monitor = MemoryPressureMonitor(signals: [signal])
/// signal.send(.warning)        // monitor.level == .warning when this returns
/// ```
public final class ManualPressureSignal: MemoryPressureSignal {
    private struct State {
        var level: MemoryPressureLevel
        var observers: [Int: @Sendable () -> Void] = [:]
        var nextToken = 0
    }

    private let state: ForkSafeMutex<State>

    /// A signal that begins at `level`.
    public init(level: MemoryPressureLevel = .normal) { state = ForkSafeMutex(State(level: level)) }

    /// The level sent last.
    public var level: MemoryPressureLevel { state.withLock { $0.level } }

    /// Changes the level and tells every observer, on the calling thread, before it returns.
    ///
    /// Sending the same level again tells the observers again: pressure goes on.
    public func send(_ level: MemoryPressureLevel) {
        let observers = state.withLock { state in
            state.level = level
            return Array(state.observers.values)
        }
        for changed in observers { changed() }
    }

    /// Calls `changed` after each ``send(_:)``.
    public func observe(_ changed: @escaping @Sendable () -> Void) -> MemoryPressureObservation {
        let token = state.withLock { state in
            state.nextToken += 1
            state.observers[state.nextToken] = changed
            return state.nextToken
        }
        return MemoryPressureObservation { [self] in
            state.withLock { _ = $0.observers.removeValue(forKey: token) }
        }
    }
}
