//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a cache is asked to do: Zipf-distributed requests (exponent 0.99) for 64-bit keys and values.
enum Workload: String, CaseIterable {
    /// Every request hits: 100,000 keys, all of them held.
    case hit100k = "hit-100k"
    /// Every request hits: 1,000,000 keys, all of them held; most lookups miss the processor's caches.
    case hit1M = "hit-1M"
    /// A miss is followed by setting the key: a limit of 100,000 entries, requests for 1,000,000 keys.
    case getOrSet = "get-or-set"
    /// Every other request sets its key: the same limit and keys.
    case mixed = "50/50"

    /// How many keys are asked for.
    var keys: Int { self == .hit100k ? 100_000 : 1_000_000 }
    /// How many entries the cache may hold; 0 is no limit.
    var limit: Int { self == .getOrSet || self == .mixed ? 100_000 : 0 }
    /// How many keys the cache holds when the clock starts: the most popular ones, the most popular last.
    var prefill: Int { limit > 0 ? limit : keys }
}
