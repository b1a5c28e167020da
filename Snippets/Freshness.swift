// snippet.hide
//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Values that live for a minute, are refreshed while they are used, and do not all expire together.
import MemoryCaching

func fetch(_ currency: String) async throws -> Double { 1 }

// snippet.show
let rates = MemoryCache<String, Double>(
    name: "rates",
    options: MemoryCacheOptions(
        expiresAfter: .seconds(60),
        lifetimeJitter: 0.1,  // each up to a tenth shorter, by chance
        staleWindow: .seconds(10),  // in its last ten seconds a value is served, and refreshed once
        failureLifetime: .seconds(1)  // an outage is asked about once a second and key
    )
)

let rate = try await rates.value(forKey: "CHF") { try await fetch("CHF") }
// snippet.hide
precondition(rate == 1)
