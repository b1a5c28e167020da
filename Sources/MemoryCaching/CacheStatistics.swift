//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a cache has done since it was made, and what it holds: one consistent-enough snapshot.
///
/// Counters only grow, but for a hit that is taken back when the value turns out to be discarded, or to belong to
/// another key of the same hash. So the difference of two snapshots says what happened in between:
///
/// ```swift
/// let before = cache.statistics
/// // …
/// let window = cache.statistics - before
/// print(window.hitRate)
/// ```
///
/// The snapshot is gathered shard by shard without stopping the cache: under concurrent use its counters may be some
/// operations apart from each other, and each of them is exact once the cache is still.
public struct CacheStatistics: Sendable, Equatable {
    /// Lookups that found a value.
    public package(set) var hits = 0
    /// Lookups that found none, or one that had expired or been discarded.
    public package(set) var misses = 0
    /// Values stored, replacements among them.
    public package(set) var insertions = 0
    /// Values not stored: their cost alone is larger than the total cost limit, or they are new and worth less than
    /// what they would displace.
    public package(set) var refusals = 0

    /// Entries removed, by the ordinal of their cause.
    @usableFromInline
    package var removalCounts = RemovalCounts()

    /// Loads started: of one key, of several keys in one call, which count as one, and refreshes.
    public package(set) var loads = 0
    /// Loads that ended with an error, cancellation among them.
    public package(set) var loadFailures = 0
    /// Times that a caller joined a load of its key already under way, rather than to make one more.
    public package(set) var coalescedLoads = 0
    /// Times that a caller was answered with an expired value, because a load had failed or took long.
    public package(set) var fallbacks = 0
    /// Time spent in loads, added up over all of them.
    public package(set) var totalLoadTime: Duration = .zero

    /// Bytes that the process-wide governor asked this cache to give back.
    public package(set) var bytesAskedUnderPressure = 0
    /// Bytes that the cache gave back when asked, by its costs or its estimate.
    public package(set) var bytesReturnedUnderPressure = 0

    /// Entries held at the moment of the snapshot.
    public package(set) var count = 0
    /// Sum of the costs held at the moment of the snapshot.
    public package(set) var totalCost = 0
    /// Bytes held in pages that the kernel may take back at any moment, at the moment of the snapshot.
    public package(set) var volatileBytes = 0
    /// Values found purged by the kernel.
    public package(set) var purged = 0

    /// All zeros.
    public init() {}

    /// Hits among all lookups, 0…1; 0 before the first lookup. Callers who shared a load found nothing and count as
    /// misses; ``coalescedLoads`` says how many they were.
    public var hitRate: Double {
        let lookups = Double(hits) + Double(misses)
        return lookups > 0 ? Double(hits) / lookups : 0
    }

    /// Entries that left for `cause`.
    public func removals(_ cause: RemovalCause) -> Int { removalCounts[cause] }

    /// Entries that the cache evicted: for a limit, expired, under memory pressure or discarded.
    public var evictions: Int {
        removals(.countLimit) + removals(.costLimit) + removals(.expired) + removals(.memoryPressure)
            + removals(.discarded)
    }

    /// What happened between two snapshots of one cache. What is *held* (``count``, ``totalCost``,
    /// ``volatileBytes``) is not a difference: it is the later snapshot's.
    public static func - (later: Self, earlier: Self) -> Self {
        var result = later
        result.hits -= earlier.hits
        result.misses -= earlier.misses
        result.insertions -= earlier.insertions
        result.refusals -= earlier.refusals
        for cause in RemovalCause.allCases { result.removalCounts[cause] -= earlier.removalCounts[cause] }
        result.loads -= earlier.loads
        result.loadFailures -= earlier.loadFailures
        result.coalescedLoads -= earlier.coalescedLoads
        result.fallbacks -= earlier.fallbacks
        result.totalLoadTime -= earlier.totalLoadTime
        result.bytesAskedUnderPressure -= earlier.bytesAskedUnderPressure
        result.bytesReturnedUnderPressure -= earlier.bytesReturnedUnderPressure
        result.purged -= earlier.purged
        return result
    }
}

/// One counter a cause, stored inline: it is part of every shard, where an array would be one more allocation.
@usableFromInline
package struct RemovalCounts: Sendable, Equatable {
    @usableFromInline var counts: (Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0)

    @inlinable
    package init() {}

    @inlinable
    package subscript(cause: RemovalCause) -> Int {
        get {
            switch cause {
            case .countLimit: counts.0
            case .costLimit: counts.1
            case .expired: counts.2
            case .memoryPressure: counts.3
            case .discarded: counts.4
            case .replaced: counts.5
            case .removed: counts.6
            }
        }
        set {
            switch cause {
            case .countLimit: counts.0 = newValue
            case .costLimit: counts.1 = newValue
            case .expired: counts.2 = newValue
            case .memoryPressure: counts.3 = newValue
            case .discarded: counts.4 = newValue
            case .replaced: counts.5 = newValue
            case .removed: counts.6 = newValue
            }
        }
    }

    /// Adds another shard's counters.
    @usableFromInline
    package static func += (left: inout Self, right: Self) {
        for cause in RemovalCause.allCases { left[cause] += right[cause] }
    }

    @usableFromInline
    package static func == (left: Self, right: Self) -> Bool {
        RemovalCause.allCases.allSatisfy { left[$0] == right[$0] }
    }
}
