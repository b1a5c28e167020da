//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// A cache as the loops see it. Keys and values have forms of their own, made before the clock runs: Foundation's
/// caches take objects only.
protocol BenchmarkedCache: SendableMetatype {
    associatedtype Keys: KeyFactory
    associatedtype Value
    /// An empty cache for `limit` entries at most; 0 is no limit.
    init(limit: Int)
    static func value(_ number: UInt64) -> Value
    func get(_ key: Keys.Key) -> Value?
    func set(_ value: Value, _ key: Keys.Key)
}

extension BenchmarkedCache {
    /// A cache that holds `keys`, the first of them set last.
    static func filled(limit: Int, _ keys: ArraySlice<Keys.Key>, _ value: Value) -> Self {
        let cache = Self(limit: limit)
        for key in keys.reversed() { cache.set(value, key) }
        return cache
    }

    /// One thread's loop: asks until `stop` is set, and returns how often.
    func run(_ loop: Loop<Self>, until stop: borrowing Atomic<Bool>) -> Int {
        let workload = loop.workload, value = loop.value
        let writes = workload.writes, setsMisses = workload.setsMisses
        return loop.stream.gets.withUnsafeBufferPointer { gets in
            loop.stream.sets.withUnsafeBufferPointer { sets in
                var position = loop.start, count = 0, found = 0, due = 0
                while !stop.load(ordering: .relaxed) {
                    // The flag is another core's cache line: looked at every 512 requests it costs nothing.
                    for _ in 0..<512 {
                        let index = position & (Requests.count - 1)
                        position += 1
                        due += writes
                        if due >= 100 {
                            due -= 100
                            set(value, sets[index])
                        } else if get(gets[index]) != nil {
                            found += 1
                        } else if setsMisses {
                            set(value, sets[index])
                        }
                    }
                    count += 512
                }
                precondition(workload.limit > 0 || found == count, "a request that must hit has missed")
                return count
            }
        }
    }
}

/// What one thread needs for its loop.
final class Loop<Cache: BenchmarkedCache>: @unchecked Sendable {
    // @unchecked: all is only read here, and every benchmarked cache is thread-safe.
    let cache: Cache
    let stream: Stream<Cache.Keys.Key>
    let value: Cache.Value
    let workload: Workload
    let start: Int

    init(_ cache: Cache, _ stream: Stream<Cache.Keys.Key>, _ value: Cache.Value, _ workload: Workload, start: Int) {
        self.cache = cache
        self.stream = stream
        self.value = value
        self.workload = workload
        self.start = start
    }
}

/// One implementation under measurement.
protocol Subject: AnyObject {
    var name: String { get }
    /// Fills what the workload needs, once.
    func prepare(_ workload: Workload)
    /// Millions of requests a second over `milliseconds`.
    func run(_ workload: Workload, threads: Int, milliseconds: Int) -> Double
    /// Lets go of everything.
    func finish()
}
