//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization

/// A Swift implementation: its caches, its keys and the loops, compiled with its types known.
final class SwiftSubject<Cache: BenchmarkedCache>: Subject {
    let name: String
    /// One for all threads, or one for each.
    private var caches: [Workload: [Cache]] = [:]
    private let cacheCount: Int
    /// By rank, made once: the less popular workloads use the first of them.
    private var keys: [Cache.Key] = []
    /// By number of keys.
    private var streams: [Int: [Stream<Cache>]] = [:]
    private let requests: RequestStore

    init(_ name: String, _ type: Cache.Type, _ requests: RequestStore, caches: Int) {
        self.name = name
        cacheCount = caches
        self.requests = requests
    }

    func prepare(_ workload: Workload) {
        for rank in keys.count..<max(keys.count, workload.keys) { keys.append(Cache.key(Requests.key(rank))) }
        let value = Cache.value(1)
        caches[workload] = (0..<cacheCount).map { _ in
            let cache = Cache(limit: workload.limit)
            for key in keys.prefix(workload.prefill).reversed() { cache.set(value, key) }
            return cache
        }
        if streams[workload.keys] != nil { return }
        streams[workload.keys] = (0..<RequestStore.streams).map { index in
            Stream(keys: requests.stream(index, keys: workload.keys).ranks.map { keys[Int($0)] }, value: value)
        }
    }

    func run(_ workload: Workload, threads: Int, milliseconds: Int) -> Double {
        guard let caches = caches[workload], let streams = streams[workload.keys] else { return 0 }
        let loops = (0..<threads).map { Loop(caches[$0 % caches.count], streams[$0], workload, start: $0 << 16) }
        return Race.run(loops.map { loop in { loop.run(until: $0) } }, milliseconds: milliseconds)
    }

    func finish() {
        caches = [:]
        keys = []
        streams = [:]
    }
}

/// The keys that a thread asks for, in their order, and the value that it sets.
struct Stream<Cache: BenchmarkedCache> {
    let keys: [Cache.Key]
    let value: Cache.Value
}

/// Request streams, made once for all implementations.
final class RequestStore {
    /// The most threads that are measured.
    static let streams = 4
    private var made: [Int: [Requests]] = [:]

    func stream(_ index: Int, keys: Int) -> Requests {
        if made[keys] == nil {
            made[keys] = (0..<Self.streams).map { Requests(keys: keys, seed: UInt64(keys + $0)) }
        }
        return made[keys]?[index] ?? Requests(keys: keys, seed: 0)
    }
}

/// One thread's loop.
final class Loop<Cache: BenchmarkedCache>: @unchecked Sendable {
    // @unchecked: the cache and the stream are only read here, and every benchmarked cache is thread-safe.
    private let cache: Cache
    private let stream: Stream<Cache>
    private let workload: Workload
    private let start: Int

    init(_ cache: Cache, _ stream: Stream<Cache>, _ workload: Workload, start: Int) {
        self.cache = cache
        self.stream = stream
        self.workload = workload
        self.start = start
    }

    /// Asks until `stop` is set; returns how often.
    func run(until stop: borrowing Atomic<Bool>) -> Int { cache.run(workload, stream, start: start, until: stop) }
}
