//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// The pressure of this process's real memory, by whatever the system offers.
///
/// Watched in this order: what `MEMORY_PRESSURE_WATCH` names (systemd's protocol; `/dev/null` turns watching off), or
/// else the cgroup's memory.pressure, or else `/proc/pressure/memory`; beside it memory.events (cgroup version 2), or
/// usage thresholds and pressure_level (version 1), of every cgroup from the process's own upwards; and where none of
/// these can be had, usage, by looking at it.
///
/// Events near a limit are hints: page cache, and pages freed lazily, fill a cgroup to its limit and trouble nobody.
/// They raise the level only where usage less inactive file pages is further beyond 7/8 of the limit than insertions
/// into caches carry it: by a 64th of the limit.
public final class SystemPressureSignal: MemoryPressureSignal {
    private struct State {
        var observers: [Int: @Sendable () -> Void] = [:]
        var nextToken = 0
        var sources: [any PressureSource] = []
        var isOpen = false
        var isOff = false
        var reopensAt: UInt64?
        var hysteresis = PressureHysteresis()
        /// The same without usage and without hints: what the kernel or systemd said in so many words.
        var events = PressureHysteresis()
        var generation = 0
    }

    private let files: SystemFiles
    private let gauge: MemoryGauge
    private let state = ForkSafeMutex(State())

    /// The real system's.
    public convenience init() { self.init(files: .system) }

    package init(files: SystemFiles) {
        self.files = files
        gauge = MemoryGauge(files)
    }

    /// How short memory is: as events and usage have it while anybody observes, by usage alone otherwise.
    public var level: MemoryPressureLevel {
        let now = Platform.monotonicNanoseconds()
        let reading = gauge.read(now: now)
        return state.withLock { state in
            if state.isOff || state.isOpen { return state.hysteresis.level }
            if case .off = PressureWatch.instruction(files.environment) { return .normal }
            var hysteresis = PressureHysteresis()
            if let reading { hysteresis.sample(used: reading.used, limit: reading.limit, at: now) }
            return hysteresis.level
        }
    }

    /// The level by what the kernel or systemd reported, without usage and without hints.
    public var levelBesideUsage: MemoryPressureLevel { state.withLock { $0.events.level } }

    /// What is watched at the moment, for people.
    package var sourceNames: [String] { state.withLock { $0.sources.map(\.name) } }

    /// Calls `changed` on the one thread of the process that waits for news, when there is any; opens the sources for
    /// the first observer; has that thread close them after the last.
    public func observe(_ changed: @escaping @Sendable () -> Void) -> MemoryPressureObservation {
        var old: [any AnyObject & Sendable] = []
        let token = state.withLock { state in
            state.nextToken += 1
            state.observers[state.nextToken] = changed
            old = open(&state)
            return state.nextToken
        }
        PressureThread.shared.attach(self)
        PressureThread.shared.release(&old)
        return MemoryPressureObservation { [self] in
            var old: [any AnyObject & Sendable] = []
            let isLast = state.withLock { state in
                state.observers.removeValue(forKey: token)
                guard state.observers.isEmpty else { return false }
                old = close(&state)
                return true
            }
            PressureThread.shared.release(&old)
            if isLast { PressureThread.shared.detach(self) }
            // Whoever came between the two is attached again.
            if isLast, state.withLock({ !$0.observers.isEmpty }) { PressureThread.shared.attach(self) }
        }
    }

    /// Opens the sources where they are not; returns those that are to be closed.
    private func open(_ state: inout State) -> [any AnyObject & Sendable] {
        var old: [any AnyObject & Sendable] = []
        // A child of fork shares its parent's open files: their news would be taken from the parent.
        if state.isOpen, state.generation != ForkGeneration.current { old = close(&state) }
        guard !state.isOpen else { return old }
        (state.sources, state.isOff) = PressureSources.open(files)
        state.isOpen = true
        state.reopensAt = nil
        state.generation = ForkGeneration.current
        return old
    }

    /// Takes the sources out; they are closed with the last reference.
    private func close(_ state: inout State) -> [any AnyObject & Sendable] {
        defer { state.sources = [] }
        state.isOpen = false
        state.isOff = false
        state.hysteresis = PressureHysteresis()
        state.events = PressureHysteresis()
        return state.sources
    }
}

extension SystemPressureSignal: PressureThreadClient {
    package var descriptors: [PolledDescriptor] { state.withLock { $0.sources.map(\.polled) } }

    package func turn(now: UInt64, ready: [PolledDescriptor]) -> UInt64? {
        let sources = state.withLock { state in
            if let reopensAt = state.reopensAt, now >= reopensAt, state.isOpen {
                state.sources = PressureSources.open(files).sources
                state.reopensAt = nil
            }
            return state.sources
        }
        var news: [(news: PressureNews, hold: UInt64)] = []
        var gone: [any PressureSource] = []
        for polled in ready {
            guard let source = sources.first(where: { $0.polled.descriptor == polled.descriptor }) else { continue }
            let latest = source.take(polled)
            if latest == .gone { gone.append(source) }
            news.append((latest, source.hold))
        }
        let isHinted = news.contains { if case .hint = $0.news { true } else { false } }
        let reading = gauge.read(now: now, exact: isHinted)
        // Whoever governs usage looks at once, too.
        if isHinted { PressureThread.shared.wake() }

        let (observers, deadline) = state.withLock { state -> ([@Sendable () -> Void], UInt64?) in
            guard state.isOpen, !state.isOff else { return ([], nil) }
            if !gone.isEmpty {
                state.sources.removeAll { source in gone.contains { $0 === source } }
                state.reopensAt = now &+ 1_000_000_000
            }
            let before = state.hysteresis.level
            let eventsBefore = state.events.level
            var isReported = false
            for (latest, hold) in news {
                switch latest {
                case .nothing, .gone: continue
                case .level(let level):
                    state.hysteresis.report(level, at: now, holdFor: hold)
                    state.events.report(level, at: now, holdFor: hold)
                    isReported = true
                case .hint(let level):
                    // So far beyond the mark it is the inserting threads' own play.
                    guard let reading, reading.untilMark < -MemoryMarks(limit: reading.limit).play else { continue }
                    state.hysteresis.report(level, at: now, holdFor: hold)
                    isReported = true
                }
            }
            if let reading { state.hysteresis.sample(used: reading.used, limit: reading.limit, at: now) }
            state.events.expire(at: now)
            let isNews = isReported || state.hysteresis.level != before || state.events.level != eventsBefore
            return (isNews ? Array(state.observers.values) : [], nextMoment(state, reading, now))
        }
        for changed in observers { changed() }
        return deadline
    }

    /// While a level lasts, usage is looked at ten times a second; without any source of events, as often as a burst of
    /// 3 GB/s from here to the warning would ask for, 10 ms to 1 s.
    private func nextMoment(_ state: State, _ reading: MemoryGauge.Reading?, _ now: UInt64) -> UInt64? {
        if max(state.hysteresis.level, state.events.level) > .normal { return now &+ 100_000_000 }
        if let reopensAt = state.reopensAt { return reopensAt }
        guard state.sources.isEmpty else { return nil }
        guard let reading else { return now &+ 1_000_000_000 }
        let untilWarning = MemoryMarks(limit: reading.limit).warning - reading.used
        return now &+ UInt64(min(max(untilWarning / 3, 10_000_000), 1_000_000_000))
    }
}
