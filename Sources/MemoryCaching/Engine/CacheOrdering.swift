//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a cache's entries are ranked by when some of them must go.
@usableFromInline
package enum CacheOrdering: Sendable {
    /// By worth: chance of reuse × recompute cost, per byte. For `MemoryCache`.
    case worth
    /// By reuse alone: a cost limits, but does not rank. For `NSCache`. While there are few entries, exactly the
    /// least recently used goes first.
    case reuse
}
