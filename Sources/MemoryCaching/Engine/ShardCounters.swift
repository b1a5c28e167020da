//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Lookups in one shard: what a hit counts.
@usableFromInline
struct LookupCounters {
    @usableFromInline var hits = 0
    @usableFromInline var misses = 0

    @inlinable
    init() {}
}

/// What has left one shard, and what was refused. Sums over the shards are all that is ever asked for.
@usableFromInline
struct ShardCounters {
    @usableFromInline var removals = RemovalCounts()
    @usableFromInline var refusals = 0

    @inlinable
    init() {}
}
