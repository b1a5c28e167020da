//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// How short memory is, from all signals that the monitor listens to.
///
/// ```swift
/// for await level in MemoryPressureMonitor.shared.levels where level > .normal { dropWhatCanBeMadeAgain() }
/// ```
/// The level is the highest that any signal reports. Sources are started for the first subscriber (an iterator of
/// ``levels``, or a cache that holds something) and stopped after the last.
public final class MemoryPressureMonitor: Sendable {
    /// The monitor of this process's real memory; starts its sources on first use.
    public static var shared: MemoryPressureMonitor { ofProcess.value }

    /// A child of fork has a monitor of its own, because the sources of its parent's would not tell it anything.
    private static let ofProcess = PerProcess { MemoryPressureMonitor(signals: [SystemPressureSignal()]) }

    private struct State {
        var observers: [Int: @Sendable (MemoryPressureLevel) -> Void] = [:]
        var nextToken = 0
        var observations: [MemoryPressureObservation] = []
    }

    private let signals: [any MemoryPressureSignal]
    private let state = ForkSafeMutex(State())

    /// A monitor that listens to `signals` alone.
    public init(signals: [any MemoryPressureSignal]) { self.signals = signals }

    /// How short memory is now, as each signal knows it at this moment. Starts nothing.
    public var level: MemoryPressureLevel { signals.map(\.level).max() ?? .normal }

    /// The level without what signals conclude from usage; see ``MemoryPressureSignal/levelBesideUsage``.
    package var levelBesideUsage: MemoryPressureLevel { signals.map(\.levelBesideUsage).max() ?? .normal }

    /// The present level, followed by each change. Every iterator gets all of them.
    ///
    /// An iterator that is slow finds the newest level, not all it has missed, and never the same one twice in a row.
    public var levels: some AsyncSequence<MemoryPressureLevel, Never> & Sendable { MemoryPressureLevels(monitor: self) }

    /// Calls `report` with the level each time a signal has news, the same level or another, on whichever thread brings
    /// it, until the observation ends.
    package func observe(
        _ report: @escaping @Sendable (MemoryPressureLevel) -> Void
    ) -> MemoryPressureObservation {
        let (token, isFirst) = state.withLock { state in
            state.nextToken += 1
            state.observers[state.nextToken] = report
            return (state.nextToken, state.observers.count == 1)
        }
        if isFirst { listen() }
        return MemoryPressureObservation { [self] in
            let isLast = state.withLock { state in
                state.observers.removeValue(forKey: token)
                return state.observers.isEmpty
            }
            if isLast { listen() }
        }
    }

    /// Begins or ends listening, as there are observers or not.
    private func listen() {
        while true {
            let isWanted = state.withLock { !$0.observers.isEmpty }
            if isWanted {
                guard state.withLock({ $0.observations.isEmpty }) else { return }
                let observations = signals.map { signal in signal.observe { [weak self] in self?.tell() } }
                let surplus = state.withLock { state in
                    guard state.observations.isEmpty else { return observations }
                    state.observations = observations
                    return []
                }
                for observation in surplus { observation.cancel() }
            } else {
                let observations = state.withLock { state in
                    defer { state.observations = [] }
                    return state.observations
                }
                for observation in observations { observation.cancel() }
            }
            if state.withLock({ !$0.observers.isEmpty }) == isWanted { return }
        }
    }

    private func tell() {
        let level = self.level
        let observers = state.withLock { Array($0.observers.values) }
        for report in observers { report(level) }
    }
}
