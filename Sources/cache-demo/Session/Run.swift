//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure

/// Drives one run: starts its child in a cgroup, brings the neighbour in and out, and writes down what happens.
struct Run {
    /// The neighbour comes when so much of the run is over, and goes when so much is.
    static let neighbourStay = 0.4..<0.75
    /// It takes its memory within half a second: much faster than a cache fills, slower than a burst.
    static let neighbourRamp = 0.5
    /// A run that is so many seconds late is stuck.
    static let patience = 15.0

    let order: WorkloadOrder
    let stream: [UInt8]
    let neighbourBytes: Int
    /// What the run's cgroup allows; nil where it has none.
    let limitBytes: Int?
    let display: any Display

    /// Runs it to its end, whatever that is.
    func record() async throws -> RunRecord {
        var record = RunRecord(order.contender)
        record.limitBytes = limitBytes
        let child = try ChildProcess(arguments: [ChildOrder.argument, try ChildOrder.run(order).encoded()])
        stream.withUnsafeBytes { _ = child.send($0) }
        let neighbour = NeighbourVisit(group: order.group, byteCount: neighbourBytes, ramp: Self.neighbourRamp)
        let watchdog = Watchdog(after: order.seconds + Self.patience, on: child)
        var start: ContinuousClock.Instant?
        var level = MemoryPressureLevel.normal
        func now() -> Double { start.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0 }

        for await line in child.lines {
            switch ChildReport(line: line) {
            case .sample(var sample):
                if start == nil { start = .now - .seconds(sample.time) }
                sample.groupBytes = order.group?.usage
                record.samples.append(sample)
                let progress = max(
                    sample.time / order.seconds,
                    order.requests.map { Double(sample.requests) / Double($0) } ?? 0
                )
                try neighbour.follow(progress: progress, stay: Self.neighbourStay, at: now())
                if order.pressureByHand, neighbour.level != level {
                    level = neighbour.level
                    child.send(line: level.name)
                }
                record.neighbour = neighbour.stay(at: now())
                record.seconds = now()
                display.show(record)
            case .words(let words):
                if !words.isEmpty { record.words.append(words) }
            case .holding:
                break
            }
        }
        record.seconds = now()
        record.fate = fate(of: child, stuck: watchdog.barked)
        record.neighbour = neighbour.stay(at: now())
        if record.fate == .killed, var end = record.samples.last {
            // It told its last figures up to a tenth of a second before; the kernel knows how far it came.
            end.time = record.seconds
            end.groupBytes = order.group?.peak ?? end.groupBytes
            record.samples.append(end)
        }
        watchdog.cancel()
        neighbour.leave()
        child.closeInput()
        if let group = order.group { LiveThings.shared.remove(group: group) }
        return record
    }

    private func fate(of child: ChildProcess, stuck: Bool) -> RunRecord.Fate {
        if stuck { return .stuck }
        switch child.end {
        case .exited(0): return .survived
        case .killed(signal: SIGKILL): return .killed
        case .killed(let signal): return .failed("ended by signal \(signal)")
        case .exited(let code): return .failed("ended with code \(code)")
        case nil: return .failed("did not end")
        }
    }
}
