//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryPressure

/// The settings of a ``MemoryCache`` beside its limits.
///
/// By default no handler is called, entries do not expire, and the cache shrinks when the process runs short of memory.
public struct MemoryCacheOptions<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Called once for every entry that leaves the cache, whatever the cause, on the thread whose call made it leave,
    /// after every lock has been released: it may use the cache. Not called when the cache itself is deinitialised.
    ///
    /// For ``RemovalCause/replaced`` the value is the old one. A value that is refused is told of once, with
    /// ``RemovalCause/costLimit``, though it was never in the cache. What the handler itself inserts sweeps no expired
    /// entries, and makes no room for itself while the process evicts because memory is short; the next insertion
    /// outside a handler does both.
    ///
    /// A handler may put what has left into another cache. One that puts whatever a limit has evicted back into the same
    /// cache makes the next entry leave, and keeps its caller as long as it does so. What leaves by a call that a
    /// handler makes is told before that call returns; from the sixteenth handler inside others on, when that has
    /// returned, in the order in which it left. So handlers that feed each other do not use up the stack.
    public var removalHandler: (@Sendable (Key, Value, RemovalCause) -> Void)?

    /// The default lifetime of an entry. `nil` (the default) means that it never expires; less than 0 counts as 0, here
    /// and wherever a lifetime is given.
    public var expiresAfter: Duration?

    /// How long an entry lives after it was last looked up or set. `nil` (the default) means that idle entries do not
    /// expire. An entry that has both lifetimes expires when the first of them is over.
    public var expiresAfterAccess: Duration?

    /// How long an entry lives that is set or loaded without a lifetime of its own, where ``expiresAfter`` is not to
    /// decide: a response's `max-age`, for example. Nil as an answer falls back to ``expiresAfter``. Called once for
    /// every value set, outside every lock.
    public var lifetime: (@Sendable (Key, Value) -> Duration?)?

    /// By how much of itself a lifetime is shortened at most, 0…1: each by a share of its own, at random, so that what
    /// came together does not go together. 0 by default. Does not touch ``expiresAfterAccess``.
    public var lifetimeJitter: Double

    /// The last part of a lifetime, in which a value is stale: ``MemoryCache/value(forKey:load:)`` and
    /// ``MemoryCache/values(forKeys:load:)`` still answer with it at once, and start one load in the background that
    /// replaces it. One load for each stale window, even if it fails. ``MemoryCache/value(forKey:)`` only
    /// answers. `nil` (the default) disables the stale window. It applies to lifetimes that begin with the set.
    public var staleWindow: Duration?

    /// How long an expired value is kept as a fallback, from the end of its lifetime on. Lookups do not find it, but
    /// ``MemoryCache/value(forKey:load:)`` and ``MemoryCache/values(forKeys:load:)`` return it when the load fails or
    /// takes longer than ``softLoadTimeout``. A removal, a new value or eviction ends it: until then it takes its place
    /// and its cost, counts in ``MemoryCache/count``, and the removal handler is not called. One that goes early, for a
    /// large value that needs its room, is told as ``RemovalCause/expired``. `nil` (the default), 0 and less keep no
    /// expired value. ``MemoryCache/refreshValue(forKey:load:)`` never returns a fallback.
    ///
    /// With ``failureLifetime``, the fallback is returned without another load for that long after a failure.
    public var keepsExpiredFor: Duration?

    /// How long callers wait for a load while there is a fallback (see ``keepsExpiredFor``), counted from the start of
    /// the load. Then they are answered with the fallback; the load goes on, and its value is stored. `nil` (the
    /// default) waits until the load ends; less than 0 counts as 0. It has no effect without a fallback, or where it is
    /// not shorter than ``loadTimeout``.
    public var softLoadTimeout: Duration?

    /// How long a load may take. Then it has failed: its task is cancelled, what it still returns is not stored, and
    /// its callers get the fallback or else a ``CacheLoadTimeoutError``. A caller whose error type cannot express that
    /// waits until the load ends, and returns what it returns. `nil` (the default), 0 and less are no limit.
    public var loadTimeout: Duration?

    /// How long ``MemoryCache/value(forKey:load:)`` answers with the error of a failed load before it tries again; nil,
    /// the default, is not at all: every call tries. Cancellations are not remembered, and a set or a removal forgets.
    /// At most 1,024 failures are remembered at a time.
    public var failureLifetime: Duration?

    /// What a loaded value is taken to cost to make, given what its load took; nil, the default, is the duration of
    /// the load in milliseconds, where values set without a cost count as 1. Called after the load, outside every lock.
    public var recomputeCost: (@Sendable (Key, Value, Duration) -> Double)?

    /// Called when a load has ended, before its value is stored and before those who wait for it hear of it, outside
    /// every lock: for logs and measurements. It runs on the load's task, or on another one if the load has timed out.
    /// A task that it starts to load the key again must be detached: any other counts as part of the load. `nil` by
    /// default.
    public var loadHandler: (@Sendable (CacheLoad<Key>) -> Void)?

    /// The clock that lifetimes and timeouts are measured by. The default runs on while the machine sleeps. In tests,
    /// `ManualClock` of the product `MemoryCachingTestKit` stands still until it is moved.
    public var clock: any Clock<Duration>

    /// Whether the cache evicts entries when the process runs short of memory: those of least worth first, among all
    /// caches of the process. The default is `true`.
    public var evictsUnderMemoryPressure: Bool

    /// The monitor that says when memory is short, where ``evictsUnderMemoryPressure`` is set. The default listens to
    /// the system; a monitor of a `ManualPressureSignal` takes its place in tests. Whichever it is, the cache also
    /// looks at the memory that the process may use before it grows.
    public var pressureMonitor: MemoryPressureMonitor

    /// Options, each with its default.
    public init(
        removalHandler: (@Sendable (Key, Value, RemovalCause) -> Void)? = nil,
        expiresAfter: Duration? = nil,
        expiresAfterAccess: Duration? = nil,
        lifetime: (@Sendable (Key, Value) -> Duration?)? = nil,
        lifetimeJitter: Double = 0,
        staleWindow: Duration? = nil,
        keepsExpiredFor: Duration? = nil,
        softLoadTimeout: Duration? = nil,
        loadTimeout: Duration? = nil,
        failureLifetime: Duration? = nil,
        recomputeCost: (@Sendable (Key, Value, Duration) -> Double)? = nil,
        loadHandler: (@Sendable (CacheLoad<Key>) -> Void)? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        evictsUnderMemoryPressure: Bool = true,
        pressureMonitor: MemoryPressureMonitor = .shared
    ) {
        self.removalHandler = removalHandler
        self.expiresAfter = expiresAfter
        self.expiresAfterAccess = expiresAfterAccess
        self.lifetime = lifetime
        self.lifetimeJitter = lifetimeJitter
        self.staleWindow = staleWindow
        self.keepsExpiredFor = keepsExpiredFor
        self.softLoadTimeout = softLoadTimeout
        self.loadTimeout = loadTimeout
        self.failureLifetime = failureLifetime
        self.recomputeCost = recomputeCost
        self.loadHandler = loadHandler
        self.clock = clock
        self.evictsUnderMemoryPressure = evictsUnderMemoryPressure
        self.pressureMonitor = pressureMonitor
    }
}
