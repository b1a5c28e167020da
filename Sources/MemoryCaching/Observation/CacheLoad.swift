//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What became of one load, for those who want to log or measure loads one by one.
///
/// - SeeAlso: ``MemoryCacheOptions/loadHandler``.
public struct CacheLoad<Key: Hashable & Sendable>: Sendable {
    /// Why the load was made.
    public enum Reason: Sendable, Hashable {
        /// Somebody asked for a key that was not there.
        case miss
        /// A value, or several of one call, were in their stale window; or somebody asked for a load though a value may
        /// be there.
        case refresh
        /// Somebody asked for several keys that were not there.
        case bulk
    }

    /// How it ended.
    public enum Result: Sendable {
        /// The load returned this many values.
        case loaded(Int)
        /// The load threw, an error of its own or, when nobody wanted its result any more, a cancellation.
        case failed(any Error)
    }

    /// The keys it was to load; one, unless it was a bulk load.
    public var keys: [Key]
    /// Why the load was made.
    public var reason: Reason
    /// How long it took, by the clock of the cache.
    public var duration: Duration
    /// How it ended.
    public var result: Result
}
