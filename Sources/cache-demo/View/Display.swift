//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc

/// What shows the demo while it runs.
protocol Display: Sendable {
    func begin(_ setting: Setting)
    /// Called with each sample, ten times a second at most.
    func show(_ record: RunRecord)
    func end(_ record: RunRecord)
    func finish(_ verdict: Verdict)
    /// Leaves the terminal as it was; from any thread, at any moment.
    func restore()
}

/// The view that fits: a live one in a terminal, plain lines elsewhere or where NO_COLOR or CI is set, and those on
/// standard error where standard output is for JSON.
func makeDisplay(_ options: DemoOptions) -> any Display {
    let environment = ProcessInfo.processInfo.environment
    func isSet(_ name: String) -> Bool { !(environment[name] ?? "").isEmpty }
    if options.json { return PlainDisplay(file: 2) }
    let plain = isatty(1) == 0 || isSet("NO_COLOR") || isSet("CI") || environment["TERM"] == "dumb"
    return plain ? PlainDisplay(file: 1) : LiveDisplay(runs: options.contenders.count)
}

/// Writes text whole to a file descriptor. Where nobody reads it any more (`cache-demo | head`), there is nothing left
/// to run for: the program ends as it does when it is told to.
func emit(_ text: String, to file: CInt) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        if count < 0 && errno == EPIPE { kill(getpid(), SIGTERM) }
        guard count > 0 else { return }
        bytes = bytes.dropFirst(count)
    }
}
