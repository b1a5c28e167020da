//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ControlGroups
import Foundation

/// Drives one run: starts its child in a cgroup, brings the neighbour in and out, and writes down what happens.
struct Run {
    /// The neighbour comes when so much of the run is over, and goes when so much is.
    static let neighbourStay = 0.4..<0.75
    /// A run that is so many seconds late is stuck. Its burst alone took 12 where ten threads wanted each processor.
    static let patience = 60.0

    let order: RunOrder
    let limitBytes: Int
    let neighbourBytes: Int
    let screen: Screen

    /// Runs it to its end, whatever that is.
    func record() async throws -> RunRecord {
        var record = RunRecord(contender: order.contender, limitBytes: order.group == nil ? nil : limitBytes)
        let warnings = order.group == nil ? PressureWarnings() : nil
        let child = try ChildProcess(.run(order), warnedBy: warnings)
        let watchdog = Task {
            guard (try? await Task.sleep(for: .seconds(order.seconds + Self.patience))) != nil else { return false }
            child.kill()
            return true
        }
        var neighbour: ChildProcess?
        var heard = ContinuousClock.now
        var warned = -PressureWarnings.interval

        for await line in child.lines {
            guard var sample = try? JSONDecoder().decode(Sample.self, from: Data(line.utf8)) else {
                record.words = line
                continue
            }
            heard = .now
            sample.groupBytes = order.group?.usage
            record.samples.append(sample)
            if Self.neighbourStay.contains(sample.time / order.seconds), neighbourBytes > 0 {
                if neighbour == nil {
                    neighbour = try ChildProcess(.neighbour(group: order.group, bytes: neighbourBytes))
                }
                record.neighbour = (record.neighbour?.lowerBound ?? sample.time)...sample.time
            } else {
                neighbour?.closeInput()
            }
            if let warnings, record.isNeighbourIn, sample.time >= warned + PressureWarnings.interval {
                warned = sample.time
                warnings.warn()
            }
            screen.show(record)
        }

        watchdog.cancel()
        record.fate = await watchdog.value ? .failed("stuck, stopped") : child.end
        if record.fate == .killed, var end = record.samples.last {
            // It told its last figures up to a tenth of a second before; the kernel knows how far it came.
            end.time += (ContinuousClock.now - heard) / .seconds(1)
            end.groupBytes = order.group?.peak ?? end.groupBytes
            record.samples.append(end)
        }
        child.closeInput()
        neighbour?.closeInput()
        order.group?.remove()
        return record
    }
}
