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

    /// Trips in one measurement.
    private static let trips = 20_000

    /// The fastest of several measurements, in nanoseconds: whoever interrupts a thread makes a trip longer, never
    /// shorter.
    static func nanoseconds() -> Double {
        (0..<20).map { _ in measure() }.min() ?? .nan
    }

    private static func measure() -> Double {
        let line = Line()
        Thread {
            for trip in 0..<trips {
                while line.turn.load(ordering: .acquiring) != 2 * trip + 1 {}
                line.turn.store(2 * trip + 2, ordering: .releasing)
            }
            line.done.signal()
        }.start()
        let clock = ContinuousClock()
        var start = clock.now
        for trip in 0..<trips {
            // The first trips wait for the other thread to start.
            if trip == trips / 10 { start = clock.now }
            line.turn.store(2 * trip + 1, ordering: .releasing)
            while line.turn.load(ordering: .acquiring) != 2 * trip + 2 {}
        }
        let elapsed = clock.now - start
        line.done.wait()
        return elapsed / .nanoseconds(1) / Double(trips - trips / 10)
    }
}
