//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization

/// How long a line of the processor's cache takes from one core to another and back: what two threads pay where they
/// write the same line, and why figures of two threads differ from machine to machine.
enum RoundTrip {
    private final class Line: Sendable {
        let turn = Atomic<Int>(0)
        let done = DispatchSemaphore(value: 0)
    }

    /// Trips in one measurement, and the most measurements.
    private static let trips = 200, measurements = 2000

    /// The fastest of several measurements, in nanoseconds: whoever interrupts a thread makes a trip longer, never
    /// shorter. They end after a second: on a busy machine each trip may wait until the other thread has a processor.
    static func nanoseconds() -> Double {
        let line = Line()
        Thread {
            var turn = 0
            while turn >= 0 {
                turn = line.turn.load(ordering: .acquiring)
                if turn & 1 == 1 && turn > 0 { line.turn.store(turn + 1, ordering: .releasing) }
            }
            line.done.signal()
        }.start()
        let clock = ContinuousClock(), end = clock.now + .seconds(1)
        var fastest = Double.infinity, turn = 0
        for _ in 0..<measurements where clock.now < end {
            let elapsed = clock.measure {
                for _ in 0..<trips {
                    line.turn.store(turn + 1, ordering: .releasing)
                    turn += 2
                    while line.turn.load(ordering: .acquiring) != turn {}
                }
            }
            fastest = min(fastest, elapsed / .nanoseconds(1) / Double(trips))
        }
        line.turn.store(-1, ordering: .releasing)
        line.done.wait()
        return fastest
    }
}
