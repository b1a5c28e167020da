//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How a ``MemoryCache`` is to behave beyond its limits.
///
/// The default is a cache that tells nobody when entries leave, never lets one expire of itself and gives memory back
/// when the process runs short of it.
public struct MemoryCacheOptions<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Called once for every entry that leaves the cache, whatever the cause, on the thread whose call made it leave,
    /// after every lock has been released: it may use the cache. Not called when the cache itself is deinitialised.
    ///
    /// For ``RemovalCause/replaced`` the value is the old one.
    public var removalHandler: (@Sendable (Key, Value, RemovalCause) -> Void)?

    /// How long entries live that are set without a lifetime of their own; nil, the default, for ever.
    public var expiresAfter: Duration?

    /// How long ``MemoryCache/value(forKey:load:)`` answers with the error of a failed load before it tries again; nil,
    /// the default, is not at all: every call tries. Cancellations are not remembered, and a set or a removal forgets.
    public var failureLifetime: Duration?

    /// What a loaded value is taken to cost to make, given what its load took; nil, the default, is the duration of
    /// the load in seconds. Called after the load, outside every lock.
    public var recomputeCost: (@Sendable (Key, Value, Duration) -> Double)?

    /// Called when a load has ended and before those who wait for it hear of it, on the load's task, outside every
    /// lock: for logs and measurements. Nil by default.
    public var loadHandler: (@Sendable (CacheLoad<Key>) -> Void)?

    /// The clock that lifetimes are measured by. The default runs on while the machine sleeps.
    public var clock: any Clock<Duration>

    /// Whether the cache takes part when the process runs short of memory: it then gives up entries, least worth
    /// first, beside all other caches of the process. The default is `true`.
    public var evictsUnderMemoryPressure: Bool

    /// Options, each with its default.
    public init(
        removalHandler: (@Sendable (Key, Value, RemovalCause) -> Void)? = nil,
        expiresAfter: Duration? = nil,
        failureLifetime: Duration? = nil,
        recomputeCost: (@Sendable (Key, Value, Duration) -> Double)? = nil,
        loadHandler: (@Sendable (CacheLoad<Key>) -> Void)? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        evictsUnderMemoryPressure: Bool = true
    ) {
        self.removalHandler = removalHandler
        self.expiresAfter = expiresAfter
        self.failureLifetime = failureLifetime
        self.recomputeCost = recomputeCost
        self.loadHandler = loadHandler
        self.clock = clock
        self.evictsUnderMemoryPressure = evictsUnderMemoryPressure
    }
}
