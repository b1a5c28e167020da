//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

// This package's NSCache beside Foundation's, in one run:  swift run -c release nscache-bench

switch CommandLine.arguments.dropFirst() {
case ["footprint", "theirs"]: measureFootprint { Theirs<NSNumber, NSNumber>() }
case ["footprint", "ours"]: measureFootprint { Ours<NSNumber, NSNumber>() }
default:
    compareHits()
    compareHitRatios()
    try compareFootprints()
    compareAscendingCosts()
}
