//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization
import _CacheTestSupport

// Reads `MemoryCache` under attack and verifies each value: owners set, replace and remove; readers read all; caches
// grow across both splits; all is removed, trimmed, listed and limited meanwhile; threads come and go, are stopped
// where they are, and fork. Rounds of integers, wide trivial values, objects, text and keys with an `==` of their own
// take turns; with `--trivial` the first two alone, whose lookups take no lock.
//
//     swift run -c release CacheStress --reads 1000000000
//
// Prints a seed and what it saw. The exit status is 1 if a value was wrong or one outlived its cache, 2 if the time was
// over before so many were read, 3 if a child of fork did not come to an end.

var goal = 20_000_000
var seconds = 600.0
var forks = true
var kinds = 5
var seed = UInt64.random(in: 0 ... .max)
var arguments = CommandLine.arguments.dropFirst()
while let option = arguments.popFirst() {
    switch option {
    case "--reads": goal = Int(arguments.popFirst() ?? "") ?? goal
    case "--seconds": seconds = Double(arguments.popFirst() ?? "") ?? seconds
    case "--no-forks": forks = false
    case "--trivial": kinds = 2
    case "--seed": seed = UInt64(arguments.popFirst() ?? "") ?? seed
    default: fatalError("unknown option \(option)")
    }
}
print("seed \(seed)")
let counters = StressCounters()
let begin = ContinuousClock.now
var random = SplitMix64(seed: seed)

@MainActor
func run<Content: StressContent>(_ content: Content.Type, _ limit: Int) {
    let left = goal - counters.hits.load(ordering: .relaxed)
    let share = min(left, max(1_000_000, goal / 40))
    StressRound<Content>(countLimit: limit, counters, seed: random.next())
        .run(reads: share, seconds: seconds / 10, forks: forks)
    let living = Tagged.living.load(ordering: .relaxed)
    if living != 0 {
        print("WRONG: \(living) values outlived their cache")
        counters.wrong.add(1, ordering: .relaxed)
    }
}

while counters.hits.load(ordering: .relaxed) < goal, ContinuousClock.now - begin < .seconds(seconds) {
    let limit = [0, 3000, 50_000, 90_000].randomElement(using: &random)!
    switch Int.random(in: 0..<kinds, using: &random) {
    case 0: run(IntegerContent.self, limit)
    case 1: run(WideContent.self, limit)
    case 2: run(ObjectContent.self, limit)
    case 3: run(TextContent.self, limit)
    default: run(ForeignContent.self, limit)
    }
}
print(counters.report, "seconds \((ContinuousClock.now - begin).components.seconds)")
let isWrong = counters.wrong.load(ordering: .relaxed) > 0
let isShort = counters.hits.load(ordering: .relaxed) < goal
endProcess(status: isWrong ? 1 : counters.stuckForks.load(ordering: .relaxed) > 0 ? 3 : isShort ? 2 : 0)
