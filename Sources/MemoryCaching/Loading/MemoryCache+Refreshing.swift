//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Refresh-ahead and stale-while-revalidate: the last part of a lifetime, in which a hit starts a load.
extension MemoryCache {
    /// A hit in a cache whose values go stale: as ``value(forKey:)``, and starts a refresh where it is due.
    @usableFromInline
    func refreshingValue<E: Error>(
        forKey key: Key,
        _ load: () -> @Sendable () async throws(E) -> Value
    ) -> Value? {
        guard let (value, deadline, now) = engine.valueWithDeadline(forKey: key) else { return nil }
        if deadline != .max, deadline &- now <= loading.staleWindow, loading.mayRefresh(key, deadline: deadline),
            let flight = loading.flights.boardInBackground(
                key,
                run: LoadRun(priority: Task.currentPriority),
                replacing: deadline
            )
        {
            // A refresh may have landed, or failed, between the look and the boarding.
            if loading.mayRefresh(key, deadline: deadline), isStill(key, deadline) {
                start(flight, reason: .refresh, load())
            } else {
                loading.flights.land(flight, .absent)
            }
        }
        return value
    }

    private func isStill(_ key: Key, _ deadline: Int64) -> Bool { engine.lastDeadline(forKey: key) == deadline }
}

extension LoadingDesk {
    /// Whether the stale value with this deadline has not been tried to refresh yet without success.
    func mayRefresh(_ key: Key, deadline: Int64) -> Bool {
        failedRefreshes?.value(forKey: key) != deadline
    }

    /// Notes that a refresh of the value with this deadline has failed: its stale window has had its one.
    func refreshFailed(_ key: Key, deadline: Int64) {
        failedRefreshes?.setValue(
            deadline,
            forKey: key,
            expiresAfter: .nanoseconds(max(0, deadline &- clock.nanoseconds()))
        )
    }
}

extension CacheEngine {
    /// When the lifetime of the entry for `key` is over at the latest; nil if there is no entry. No use of it.
    func lastDeadline(forKey key: Key) -> Int64? {
        let (shard, slot) = locate(key, KeyHash.hash(key, seed: seed))
        defer { unlock(shard) }
        return slot == 0 ? nil : shard.pointee.wheel?.entryDeadline(of: slot).last ?? .max
    }
}
