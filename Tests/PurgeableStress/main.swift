//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Synchronization
import _CacheTestSupport

// Stresses purgeable bytes until the time is over, or as much was seen as --verified and --purged ask for, and prints
// what it saw. The exit status is 1 if anything was corrupt, 2 if the time was over before enough was seen, 3 if a
// child of fork did not come to an end.
//
//     swift run -c release PurgeableStress --seconds 60
//     Scripts/stress-purgeable.sh
//
// To be run where memory is short: in a memory cgroup of about 64 MiB, or with --squeeze-by-advice.

var options = StressOptions()
var arguments = CommandLine.arguments.dropFirst()
while let option = arguments.popFirst() {
    switch option {
    case "--seconds": options.seconds = Double(arguments.popFirst() ?? "") ?? options.seconds
    case "--verified": options.verified = Int(arguments.popFirst() ?? "") ?? options.verified
    case "--purged": options.purged = Int(arguments.popFirst() ?? "") ?? options.purged
    case "--control": options.control = .init(rawValue: arguments.popFirst() ?? "") ?? .none
    case "--value-bytes": options.valueBytes = Int(arguments.popFirst() ?? "") ?? options.valueBytes
    case "--squeeze-bytes": options.squeezeBytes = Int(arguments.popFirst() ?? "") ?? options.squeezeBytes
    case "--squeeze-by-advice": options.squeezesByAdvice = true
    case "--no-forks": options.forks = false
    case "--seed": options.seed = UInt64(arguments.popFirst() ?? "") ?? options.seed
    default: fatalError("unknown option \(option)")
    }
}
print("seed \(options.seed)")
PurgeablePool.shared.warmQueue.adoptBudget(64 << 20)
let run = StressRun(options)
let begun = ContinuousClock.now
run.run()
print(
    run.counters.report,
    "verified \(run.counters.verifiedCount) seconds \((ContinuousClock.now - begun).components.seconds)"
)
let isCorrupt = run.counters.corrupt.load(ordering: .relaxed) > 0
let isStuck = run.counters.stuckForks.load(ordering: .relaxed) > 0
endProcess(status: isCorrupt ? 1 : isStuck ? 3 : run.fellShort ? 2 : 0)
