//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// Refresh-ahead and stale-while-revalidate: the last part of a lifetime, in which a hit starts a load.
extension Loader {
    /// A key whose value was served in its stale window, and the deadline that it has.
    typealias StaleKey = (key: Key, deadline: Int64)

    /// A hit in a cache whose values go stale: as ``value(forKey:)``, and starts a refresh where it is due.
    @usableFromInline
    func refreshingValue<E: Error>(
        forKey key: Key,
        _ load: () -> @Sendable () async throws(E) -> Value
    ) -> Value? {
        var stale: [StaleKey] = []
        guard let value = value(forKey: key, noting: &stale) else { return nil }
        if let stale = stale.first,
            let flight = boardRefresh(of: stale, throwing: E.self, { LoadRun(priority: Task.currentPriority) })
        {
            start(flight, reason: .refresh, load())
        }
        return value
    }

    /// As ``value(forKey:)``, and adds the key to `stale` where a refresh is due.
    func value(forKey key: Key, noting stale: inout [StaleKey]) -> Value? {
        guard hasStaleWindow else { return store.value(forKey: key) }
        guard let (value, deadline, now) = store.valueWithDeadline(forKey: key) else { return nil }
        if deadline.last != .max, deadline.last &- now <= staleWindow, !deadline.isRefreshTried {
            stale.append((key, deadline.last))
        }
        return value
    }

    /// Refreshes what is stale in one load in the background.
    func refresh<E: Error>(
        _ stale: [StaleKey],
        _ load: @escaping @Sendable ([Key]) async throws(E) -> [Key: Value]
    ) {
        guard !stale.isEmpty else { return }
        let run = LoadRun(priority: Task.currentPriority)
        let flights = stale.compactMap { key in boardRefresh(of: key, throwing: E.self) { run } }
        if !flights.isEmpty { start(flights, of: run, reason: .refresh, load) }
    }

    /// Opens the flight of a refresh, or answers nil if one is under way or has been.
    private func boardRefresh<E: Error>(
        of stale: StaleKey,
        throwing: E.Type,
        _ makeRun: () -> LoadRun
    ) -> Flight<Key, Value>? {
        let (key, deadline) = stale
        let flight = flights.boardInBackground(key, replacing: deadline, throwing: E.self, makeRun: makeRun)
        guard let flight else { return nil }
        // A refresh may have landed, or failed, between the look and the boarding.
        if let now = store.deadline(forKey: key), now.last == deadline, !now.isRefreshTried { return flight }
        flights.landUnloaded(flight, .absent)
        return nil
    }
}
