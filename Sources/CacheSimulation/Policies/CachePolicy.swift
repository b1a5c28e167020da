//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A cache that is only counted, never filled: which keys it would hold, in which order it would let them go.
///
/// Keys are the numbers of an ``IndexedTrace``. What is larger than the whole capacity is never kept, whichever the
/// policy.
protocol CachePolicy {
    /// An empty cache for the traffic that `setting` describes.
    init(_ setting: PolicySetting)

    /// The request at `position` of the trace is for `key`: whether it hits. After a miss the key has been inserted
    /// and others evicted as the policy sees fit.
    mutating func request(_ key: Int, at position: Int) -> Bool

    /// Bytes (or entries) held; never more than the capacity when ``request(_:at:)`` returns.
    var used: Int { get }

    /// Entries held; nil where that is not counted.
    var entries: Int? { get }
}

extension CachePolicy {
    var entries: Int? { nil }
}

/// What a policy may know.
struct PolicySetting {
    /// Bytes, or entries for a trace without sizes.
    let capacity: Int
    /// The trace; online policies look at its sizes and costs alone.
    let trace: IndexedTrace
    /// Whether the policy is to weigh costs.
    var weighsCosts = false
    /// When each request's key comes next; for offline policies alone, empty otherwise.
    var nextPositions: [Int] = []

    var sizes: [Int] { trace.sizes }
    var costs: [Double] { trace.costs }
    var keyCount: Int { trace.keys.count }
}
