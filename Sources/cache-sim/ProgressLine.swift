//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Foundation
import Synchronization

/// One line on a terminal's standard error that is written over as work goes on; silent anywhere else, and for work
/// that is done within a second.
final class ProgressLine: Sendable {
    private struct State {
        var next = ContinuousClock.now + .seconds(1)
        var isShown = false
    }

    private let isTerminal: Bool
    private let state = Mutex(State())

    init() {
        let environment = ProcessInfo.processInfo.environment
        isTerminal = isatty(2) == 1 && environment["TERM"] != "dumb" && environment["CI"] == nil
    }

    /// Reading: there is no telling how much is to come.
    func show(_ name: String, requests: Int) { show("\(name): \(requests / 1_000_000) million requests read") }

    /// Simulating.
    func show(_ name: String, share: Double) { show("\(name): \(Int(share * 100)) %") }

    /// Takes the line away.
    func clear() {
        state.withLock { state in
            if state.isShown { Failure.write("\r\u{1B}[K") }
            state.isShown = false
        }
    }

    private func show(_ text: @autoclosure () -> String) {
        guard isTerminal else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            guard now >= state.next else { return }
            // Ten times a second is as often as anybody can see.
            state.next = now + .milliseconds(100)
            state.isShown = true
            Failure.write("\r\(text())\u{1B}[K")
        }
    }
}
