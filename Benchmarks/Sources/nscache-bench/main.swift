//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation
import FoundationCaching

struct NSCacheBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nscache-bench",
        abstract: "Measure this package's NSCache beside Foundation's, in one run: swift run -c release nscache-bench"
    )

    /// What a process of its own measures, when the benchmark starts itself for it: "footprint ours".
    @Argument(help: .hidden) var part: [String] = []
}

switch NSCacheBench.parseOrExit().part {
case ["footprint", "theirs"]: measureFootprint { Theirs<NSNumber, NSNumber>() }
case ["footprint", "ours"]: measureFootprint { Ours<NSNumber, NSNumber>() }
default:
    compareHits()
    compareHitRatios()
    try compareFootprints()
    compareAscendingCosts()
}
