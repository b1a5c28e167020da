//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser

/// Measures `PurgeableCache` against a dictionary of arrays and a CLOCK cache of ordinary memory, in one sitting.
@main
struct PurgeableCacheBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purgeable-cache-bench",
        abstract: "Measures PurgeableCache: time of a hit, memory per item, hit ratio in a container.",
        subcommands: [Hits.self, HitRatio.self, Fill.self]
    )
}

/// SplitMix64, so that runs repeat.
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }
}

/// Nanoseconds that `body` takes for each of `operations`.
func nanosecondsEach(_ operations: Int, _ body: () -> Void) -> Double {
    let elapsed = ContinuousClock().measure(body).components
    return (Double(elapsed.seconds) * 1e9 + Double(elapsed.attoseconds) / 1e9) / Double(operations)
}

func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }
