//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Synchronization

/// A cache as the loops see it. Keys have a form of their own, made before the clock runs: Foundation's caches take
/// objects only.
protocol BenchmarkedCache: SendableMetatype {
    associatedtype Key
    associatedtype Value
    /// An empty cache for `limit` entries at most; 0 is no limit.
    init(limit: Int)
    static func key(_ number: UInt64) -> Key
    static func value(_ number: UInt64) -> Value
    func get(_ key: Key) -> Value?
    func set(_ value: Value, _ key: Key)
    /// One thread's loop. A requirement, not an extension's method alone, so that it is compiled once for each
    /// implementation with its types known: a loop that asks witness tables would slow down the fast ones.
    func run(_ workload: Workload, _ stream: Stream<Self>, start: Int, until stop: borrowing Atomic<Bool>) -> Int
}

extension BenchmarkedCache {
    /// Asks until `stop` is set; returns how often.
    func run(_ workload: Workload, _ stream: Stream<Self>, start: Int, until stop: borrowing Atomic<Bool>) -> Int {
        stream.keys.withUnsafeBufferPointer { keys in
            var position = start, count = 0, found = 0
            while !stop.load(ordering: .relaxed) {
                // The flag is another core's cache line: looked at every 512 requests it costs nothing.
                for _ in 0..<512 {
                    let key = keys[position & (Requests.count - 1)]
                    position += 1
                    switch workload {
                    case .hit100k, .hit1M:
                        if get(key) != nil { found += 1 }
                    case .getOrSet:
                        if get(key) != nil { found += 1 } else { set(stream.value, key) }
                    case .mixed:
                        if position & 1 == 0 {
                            set(stream.value, key)
                        } else if get(key) != nil {
                            found += 1
                        }
                    }
                }
                count += 512
            }
            precondition(workload.limit > 0 || found == count, "a request that must hit has missed")
            return count
        }
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
