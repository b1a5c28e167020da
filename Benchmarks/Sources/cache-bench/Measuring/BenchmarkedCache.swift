//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

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
