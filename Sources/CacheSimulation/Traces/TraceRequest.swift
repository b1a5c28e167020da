//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// One request of a trace: which key was asked for, how large its value is and what it costs to make.
public struct TraceRequest: Sendable, Equatable {
    /// The key, or a 64-bit hash of it where the source's keys are text.
    public var key: UInt64
    /// The value's size in bytes; 1 where the source has none, and 0 where it has sizes but not that of this request,
    /// which is then that of the key's other requests.
    public var size: Int
    /// What it costs to make the value again, in a unit of the trace's own; nil where the source has none.
    public var cost: Double?
    /// When it came, in a unit of the source's own; nil where it was not asked for.
    public var time: Double?

    /// A request for `key`.
    public init(key: UInt64, size: Int = 1, cost: Double? = nil, time: Double? = nil) {
        self.key = key
        self.size = size
        self.cost = cost
        self.time = time
    }
}
