// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Lifetimes and timeouts, tested with a clock that a test moves by hand.
// snippet.show
import MemoryCaching
import MemoryCachingTestKit

let clock = ManualClock()
let rates = MemoryCache<String, Double>(
    options: MemoryCacheOptions(expiresAfter: .seconds(60), loadTimeout: .seconds(5), clock: clock)
)

// A lifetime: move the clock, and look.
rates["CHF"] = 1.07
clock.advance(by: .seconds(59))
precondition(rates["CHF"] == 1.07)
clock.advance(by: .seconds(1))
precondition(rates["CHF"] == nil)

// A timeout sleeps: wait until it does, and then move the clock.
let load = Task {
    try await rates.value(forKey: "CHF") {
        try await clock.sleep(for: .seconds(3_600))  // a server that does not answer
        return 1.08
    }
}
try await clock.waitForSleepers(2)
clock.advance(by: .seconds(5))
do {
    _ = try await load.value
    preconditionFailure("the load had no end")
} catch is CacheLoadTimeoutError {
    // What the code under test does now is what the test is about.
}
// snippet.hide
precondition(rates.statistics.loadFailures == 1)
