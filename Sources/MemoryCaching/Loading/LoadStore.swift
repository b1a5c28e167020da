//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where a ``Loader`` looks for values and puts them: the engine of `MemoryCache`, or the bytes of `PurgeableCache`.
protocol LoadStore<Key, Value>: Sendable {
    associatedtype Key: Hashable
    associatedtype Value

    /// The sum of costs at most, of values that do not bring their own cost; 0 or less is no limit.
    var totalCostLimit: Int { get }
    /// The value; a use of it.
    func value(forKey key: Key) -> Value?
    /// The value; no use of it, and no lookup in the statistics.
    func peekValue(forKey key: Key) -> Value?
    /// The value, also an expired one that is kept as a fallback; nil where none are kept. No use of it.
    func fallback(forKey key: Key) -> Value?
    /// The value, a use of it, with the end of its lifetime and the present moment.
    func valueWithDeadline(forKey key: Key) -> (value: Value, deadline: EntryDeadline, now: Int64)?
    /// The end of the lifetime of the entry for `key`; nil if there is no entry. No use of it.
    func deadline(forKey key: Key) -> EntryDeadline?
    /// Notes that a refresh of the entry for `key` has failed, if that still has this last deadline.
    func noteFailedRefresh(of key: Key, deadline: Int64)
    /// Removes the entry for `key` if its content is gone, as a lookup would; no lookup in the statistics.
    func removeDiscarded(forKey key: Key)
    /// Stores `value` if `ticket` admits it under the lock that it is stored under.
    func insert(
        _ value: Value,
        forKey key: Key,
        cost: Int,
        recomputeCost: Double?,
        expiresAfter lifetime: Duration?,
        ticket: LoadTicket
    ) -> InsertionOutcome
    /// The cache's name, for people.
    var name: String { get }
}

extension CacheEngine: LoadStore {}
