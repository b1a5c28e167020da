//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a cache is asked to do.
struct Workload: Hashable {
    let name: String
    /// How many keys are asked for.
    let keys: Int
    /// How many entries the cache may hold; 0 is no limit.
    let limit: Int
    /// How many requests of a hundred set their key; the others look it up.
    var writes = 0
    /// Whether a miss is followed by setting the key.
    var setsMisses = false
    var requests = RequestDistribution.zipf

    /// How many keys the cache holds when the clock starts: the most popular ones, the most popular last.
    var prefill: Int { limit > 0 ? limit : keys }

    /// Every request hits: 100,000 keys, all of them held.
    static let hit100k = Workload(name: "hit-100k", keys: 100_000, limit: 0)
    /// Every request hits: 1,000,000 keys, all of them held; most lookups miss the processor's caches.
    static let hit1M = Workload(name: "hit-1M", keys: 1_000_000, limit: 0)
    /// A miss is followed by setting the key: a limit of 100,000 entries, requests for 1,000,000 keys.
    static let getOrSet = Workload(name: "get-or-set", keys: 1_000_000, limit: 100_000, setsMisses: true)
    /// Lookups and insertions that do not depend on each other: the same limit and keys.
    static func mix(writes: Int) -> Workload {
        Workload(name: "\(100 - writes)/\(writes)", keys: 1_000_000, limit: 100_000, writes: writes)
    }

    static let usual = [hit100k, hit1M, getOrSet, mix(writes: 50)]

    /// The workload of a name: one of `usual`, or percentages of reads and writes.
    static func named(_ name: String) -> Workload? {
        if let workload = usual.first(where: { $0.name == name }) { return workload }
        let shares = name.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard shares.count == 2, shares.allSatisfy({ $0 >= 0 }), shares[0] + shares[1] == 100 else { return nil }
        return mix(writes: shares[1])
    }

    func with(_ requests: RequestDistribution) -> Workload {
        var copy = self
        copy.requests = requests
        return copy
    }
}
