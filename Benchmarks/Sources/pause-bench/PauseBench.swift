//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport

/// Looks for the longest call: an average hides the one caller who pays for all.
@main
struct PauseBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause-bench",
        abstract: "Measure the longest calls: growth, expiry, replacement and the end of a cache.",
        discussion: """
            “undisturbed” are calls whose thread the kernel did not take off its core, and “unshared” those where it \
            took none of the process. “control” does as many small writes to fresh memory and no cache's work: what \
            it shows is the machine's.
            """,
        subcommands: [Growth.self, Expiry.self, Replacement.self, Drop.self]
    )

    static func report(_ name: String, _ pauses: Pauses) {
        let times = [pauses.worst, pauses.worstUndisturbed, pauses.worstUnshared].map { time in
            (Double(time) / 1e6).fixed(3).indented(to: 11)
        }
        let counts = ["\(pauses.calls)".indented(to: 10), "\(pauses.overOneMillisecond)".indented(to: 9)]
        print(name.padded(to: 19) + counts[0] + times.joined() + counts[1])
    }

    static func heading() {
        print("milliseconds           calls      worst undisturbed  unshared   > 1 ms")
    }
}
