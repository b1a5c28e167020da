//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The keys that a thread brings, in their order.
struct Stream<Key> {
    let gets: [Key]
    let sets: [Key]
}

/// Keys and streams of one kind, made once for all implementations that take it.
final class KeyStore<Keys: KeyFactory> {
    /// By rank, for filling caches: the less popular workloads use the first of them.
    private(set) var keys: [Keys.Key] = []
    private var streams: [RequestStore.Kind: [Stream<Keys.Key>]] = [:]
    private let requests: RequestStore

    init(_ requests: RequestStore) { self.requests = requests }

    func streams(for workload: Workload) -> [Stream<Keys.Key>] { streams[.init(workload)] ?? [] }

    func prepare(_ workload: Workload) {
        for rank in keys.count..<max(keys.count, workload.keys) { keys.append(Keys.key(Requests.key(rank))) }
        if streams[.init(workload)] != nil { return }
        streams[.init(workload)] = requests.streams(for: .init(workload)).map { requests in
            if Keys.isMadeForEachCall { return Stream(gets: ownKeys(requests), sets: ownKeys(requests)) }
            let shared = requests.ranks.map { keys[Int($0)] }
            return Stream(gets: shared, sets: shared)
        }
    }

    /// Keys that no cache and no other thread holds, one for each rank: a key that a thread made for its call costs it
    /// no cache line of another thread.
    private func ownKeys(_ requests: Requests) -> [Keys.Key] {
        var own = [Keys.Key?](repeating: nil, count: keys.count)
        return requests.ranks.map { rank in
            if let key = own[Int(rank)] { return key }
            let key = Keys.key(Requests.key(Int(rank)))
            own[Int(rank)] = key
            return key
        }
    }
}
