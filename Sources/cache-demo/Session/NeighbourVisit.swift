//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import Synchronization

/// The neighbour's visit in one run: comes once, holds its memory, goes once.
final class NeighbourVisit {
    private let group: ControlGroup?
    private let byteCount: Int
    private let ramp: Double
    private var child: ChildProcess?
    private var from: Double?
    private var until: Double?
    /// Set by the task that reads what the neighbour says.
    private let arrival = Arrival()

    init(group: ControlGroup?, byteCount: Int, ramp: Double) {
        self.group = group
        self.byteCount = byteCount
        self.ramp = ramp
    }

    /// Brings it in or sends it away, as the run's progress (0 to 1) has it.
    func follow(progress: Double, stay: Range<Double>, at time: Double) throws {
        if child == nil, stay.contains(progress), byteCount > 0 {
            let order = NeighbourOrder(group: group, byteCount: byteCount, ramp: ramp)
            let child = try ChildProcess(arguments: [ChildOrder.argument, try ChildOrder.neighbour(order).encoded()])
            self.child = child
            from = time
            let begun = ContinuousClock.now
            Task { [arrival] in
                for await line in child.lines {
                    guard case .holding = ChildReport(line: line) else { continue }
                    arrival.full.withLock { $0 = time + (ContinuousClock.now - begun) / .seconds(1) }
                }
                arrival.end.withLock { $0 = child.end }
            }
        }
        if child != nil, until == nil, progress >= stay.upperBound || arrival.end.withLock({ $0 != nil }) {
            leave()
            until = time
        }
    }

    /// How short memory is to be called where no kernel says so.
    var level: MemoryPressureLevel {
        guard child != nil, until == nil else { return .normal }
        return arrival.full.withLock { $0 == nil } ? .warning : .critical
    }

    /// What is to be written down of it; nil if it has not come.
    func stay(at time: Double) -> RunRecord.Stay? {
        guard let from else { return nil }
        return RunRecord.Stay(
            from: from,
            full: arrival.full.withLock { $0 },
            until: until ?? time,
            killed: arrival.end.withLock { $0 == .killed(signal: SIGKILL) }
        )
    }

    /// Sends it away; it is gone when its group can be removed.
    func leave() { child?.closeInput() }

    private final class Arrival: Sendable {
        let full = Mutex<Double?>(nil)
        let end = Mutex<ChildProcess.End?>(nil)
    }
}

/// Kills a child that has not ended in time.
final class Watchdog: Sendable {
    private let state = Mutex(false)
    private let task: Mutex<Task<Void, Never>?> = Mutex(nil)

    init(after seconds: Double, on child: ChildProcess) {
        let task = Task { [self] in
            do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
            state.withLock { $0 = true }
            child.kill()
        }
        self.task.withLock { $0 = task }
    }

    /// Whether it had to.
    var barked: Bool { state.withLock { $0 } }

    func cancel() { task.withLock { $0?.cancel() } }
}
