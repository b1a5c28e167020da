//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ServiceLifecycleSupport
public import ServiceLifecycle
#endif

/// Work that is done for caches at an interval: removing expired entries, and reporting.
///
/// A cache needs none of it to be right: entries whose lifetime is over are not found, maintenance or no maintenance.
/// With it their memory comes back sooner, and metrics stay fresh. Run it in a task, as a service of a service group
/// (with the trait `ServiceLifecycleSupport`), call ``perform()`` from a timer of your own, or leave it be.
///
/// ```swift
/// var maintenance = CacheMaintenance(every: .seconds(10))
/// maintenance.add(images)
/// Task { [maintenance] in await maintenance.run() }
/// ```
public struct CacheMaintenance: Sendable {
    /// How long it rests between rounds.
    public var interval: Duration
    /// What it rests by.
    public var clock: any Clock<Duration>

    private var chores: [@Sendable () -> Void] = []

    /// Maintenance of nothing yet.
    ///
    /// - Parameters:
    ///   - interval: how long to rest between rounds.
    ///   - clock: what to rest by.
    public init(every interval: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()) {
        self.interval = interval
        self.clock = clock
    }

    /// Removes expired entries of `cache` in every round. Does not keep the cache alive.
    public mutating func add<Key, Value>(_ cache: MemoryCache<Key, Value>) {
        chores.append { [weak cache] in cache?.removeExpired() }
    }

    /// Removes expired entries of `cache` in every round. Does not keep the cache alive.
    public mutating func add<Key>(_ cache: PurgeableCache<Key>) {
        chores.append { [weak cache] in cache?.removeExpired() }
    }

    /// Does `chore` in every round, such as recording statistics.
    public mutating func add(_ chore: @escaping @Sendable () -> Void) {
        chores.append(chore)
    }

    /// One round.
    public func perform() {
        for chore in chores { chore() }
    }

    /// Round after round until the task is cancelled or, in a service group, the group shuts down.
    public func run() async {
        #if ServiceLifecycleSupport
        await cancelWhenGracefulShutdown { await performRounds() }
        #else
        await performRounds()
        #endif
    }

    /// What clocks can add to any present moment.
    private static let century = Duration.seconds(100 * 365 * 86_400)

    private func performRounds() async {
        while !Task.isCancelled {
            perform()
            // All that a clock may throw is that the task was cancelled.
            do { try await clock.sleep(for: min(interval, Self.century)) } catch { return }
        }
    }
}

#if ServiceLifecycleSupport
extension CacheMaintenance: Service {}
#endif

extension MemoryCache {
    /// Removes all expired entries, but for those that are still kept as fallbacks
    /// (``MemoryCacheOptions/keepsExpiredFor``). Lookups do not find them in any case; this frees their memory.
    ///
    /// - Complexity: O(*e*) for *e* expired entries, and one visit to each shard.
    public func removeExpired() { engine.removeExpired() }
}
