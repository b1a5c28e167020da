//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// What a cache's entries are ranked by when some of them must go.
package enum CacheOrdering: Sendable {
    /// By worth: chance of reuse × cost to recompute, per byte. For `MemoryCache`.
    case worth
    /// By reuse alone: a cost limits, but does not rank. For `NSCache`.
    case reuse
}

/// The cache behind every face of the package.
package final class CacheEngine<Key: Hashable, Value>: @unchecked Sendable {
    // Sendable because all mutable state is in `state`, behind its mutex.

    struct Entry {
        var value: Value
        var cost: Int
        var stamp: UInt64
        var deadline: Int64
        var isDiscardable: Bool
    }

    struct Departure {
        var key: Key
        var value: Value
        var cause: RemovalCause
        var isDiscardable: Bool
        var replacement: Value?
    }

    struct State {
        var name: String
        var countLimit: Int
        var totalCostLimit: Int
        var evictsDiscarded = true
        var observer: ((Key, Value, RemovalCause) -> Void)?
        var entries: [Key: Entry] = [:]
        var order: [(key: Key, stamp: UInt64)] = []
        var first = 0
        var stamp: UInt64 = 0
        var totalCost: Int128 = 0
        var statistics = CacheStatistics()
        var expires = false

        mutating func touch(_ key: Key) -> UInt64 {
            stamp += 1
            order.append((key, stamp))
            if order.count > 2 * entries.count + 64 {
                order = order[first...].filter { entries[$0.key]?.stamp == $0.stamp || $0.stamp == stamp }
                first = 0
            }
            return stamp
        }

        mutating func remove(_ key: Key, cause: RemovalCause, into departures: inout [Departure]) {
            guard let index = entries.index(forKey: key) else { return }
            let (key, entry) = entries.remove(at: index)
            totalCost -= Int128(entry.cost)
            statistics.removalCounts[cause] += 1
            departures.append(
                Departure(key: key, value: entry.value, cause: cause, isDiscardable: entry.isDiscardable)
            )
        }

        /// Removes the least recently used entry, or the least recently used one that costs anything.
        mutating func evict(costly: Bool, cause: RemovalCause, into departures: inout [Departure]) -> Bool {
            var index = first
            while index < order.count {
                let (key, stamp) = order[index]
                if let entry = entries[key], entry.stamp == stamp {
                    if !costly || entry.cost > 0 {
                        remove(key, cause: cause, into: &departures)
                        if index == first { first += 1 }
                        return true
                    }
                } else if index == first {
                    first += 1
                }
                index += 1
            }
            return false
        }

        mutating func enforce(into departures: inout [Departure]) {
            while countLimit > 0, entries.count > countLimit,
                evict(costly: false, cause: .countLimit, into: &departures)
            {}
            while totalCostLimit > 0, totalCost > totalCostLimit,
                evict(costly: true, cause: .costLimit, into: &departures)
            {}
        }

        mutating func expire(at now: Int64, into departures: inout [Departure]) {
            for (key, entry) in entries where entry.deadline <= now {
                remove(key, cause: .expired, into: &departures)
            }
        }
    }

    final class Guarded {
        let mutex = Mutex(())
        var storage: State
        init(_ storage: State) { self.storage = storage }
        func withLock<R>(_ body: (inout State) -> R) -> R {
            mutex._unsafeLock()
            defer { mutex._unsafeUnlock() }
            return body(&storage)
        }
    }
    let state: Guarded
    let hooks: ContentHooks<Value>?
    let ordering: CacheOrdering
    let clock: LifetimeClock?

    /// A cache without entries.
    ///
    /// - Parameters:
    ///   - countLimit: entries at most; 0 or less is no limit.
    ///   - totalCostLimit: sum of costs at most; 0 or less is no limit.
    ///   - hooks: how to treat values with discardable content; nil where there are none.
    ///   - clock: what lifetimes are measured by; nil for the continuous clock.
    package init(
        name: String = "",
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        ordering: CacheOrdering = .worth,
        hooks: ContentHooks<Value>? = nil,
        clock: (any Clock<Duration>)? = nil
    ) {
        self.hooks = hooks
        self.ordering = ordering
        self.clock = LifetimeClock(clock ?? ContinuousClock())
        state = Guarded(State(name: name, countLimit: countLimit, totalCostLimit: totalCostLimit))
    }

    /// Runs `body` under the lock, then lets go of what left, outside.
    private func update<R>(_ body: (inout State, inout [Departure]) -> R) -> R {
        var departures: [Departure] = []
        var observer: ((Key, Value, RemovalCause) -> Void)?
        let result = state.withLock { state in
            observer = state.observer
            return body(&state, &departures)
        }
        for departure in departures {
            if departure.cause == .replaced, departure.isDiscardable, let hooks,
                let replacement = departure.replacement, hooks.isIdentical(departure.value, replacement)
            {
                if hooks.reportsIdenticalReplacement { observer?(departure.key, departure.value, departure.cause) }
                continue
            }
            observer?(departure.key, departure.value, departure.cause)
            if departure.isDiscardable { hooks?.discardIfPossible(departure.value) }
        }
        return result
    }

    // MARK: Settings

    /// The cache's name, for people.
    package var name: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }
    /// Entries at most; 0 or less is no limit. Setting it evicts at once.
    package var countLimit: Int {
        get { state.withLock { $0.countLimit } }
        set {
            update { state, departures in
                state.countLimit = newValue
                state.enforce(into: &departures)
            }
        }
    }
    /// Sum of costs at most; 0 or less is no limit. Setting it evicts at once.
    package var totalCostLimit: Int {
        get { state.withLock { $0.totalCostLimit } }
        set {
            update { state, departures in
                state.totalCostLimit = newValue
                state.enforce(into: &departures)
            }
        }
    }
    /// Whether values whose content is gone are dropped at lookup and in sweeps.
    package var evictsValuesWithDiscardedContent: Bool {
        get { state.withLock { $0.evictsDiscarded } }
        set { state.withLock { $0.evictsDiscarded = newValue } }
    }
    /// Called once for every departure, on the thread that caused it, after every lock is released.
    package var removalObserver: ((Key, Value, RemovalCause) -> Void)? {
        get {
            var observer: ((Key, Value, RemovalCause) -> Void)?
            state.withLock { observer = $0.observer }
            return observer
        }
        set {
            state.withLock { $0.observer = newValue }
        }
    }

    // MARK: Access

    /// The value for `key`; counts as a use of it.
    package func value(forKey key: Key) -> Value? {
        var found: Entry?
        update { state, departures in
            guard let entry = state.entries[key] else {
                state.statistics.misses += 1
                return
            }
            if entry.deadline != .max, entry.deadline <= self.clock!.nanoseconds() {
                state.remove(key, cause: .expired, into: &departures)
                state.statistics.misses += 1
                return
            }
            let stamp = state.touch(key)
            state.entries[key]!.stamp = stamp
            state.statistics.hits += 1
            found = entry
        }
        guard let entry = found else { return nil }
        if entry.isDiscardable, evictsValuesWithDiscardedContent, hooks!.isDiscarded(entry.value) {
            update { state, departures in
                state.remove(key, cause: .discarded, into: &departures)
                state.statistics.hits -= 1
                state.statistics.misses += 1
            }
            return nil
        }
        return entry.value
    }

    /// Stores `value`, evicting others where the limits ask for it. A value whose cost alone is larger than the
    /// total cost limit is refused, and what was stored under `key` goes too.
    ///
    /// - Returns: whether the value was stored.
    @discardableResult
    package func setValue(
        _ value: Value,
        forKey key: Key,
        cost: Int = 0,
        recomputeCost: Double? = nil,
        expiresAfter lifetime: Duration? = nil
    ) -> Bool {
        let cost = max(0, cost)
        let isDiscardable = hooks?.isDiscardable(value) ?? false
        let deadline = lifetime.map { clock!.nanoseconds().addingReportingOverflow($0.saturatedNanoseconds) }
            .map { $0.overflow ? .max : $0.partialValue }
        return update { state, departures in
            if state.totalCostLimit > 0, cost > state.totalCostLimit {
                state.statistics.refusals += 1
                state.remove(key, cause: .costLimit, into: &departures)
                return false
            }
            state.remove(key, cause: .replaced, into: &departures)
            if !departures.isEmpty { departures[0].replacement = value }
            while state.countLimit > 0, state.entries.count >= state.countLimit,
                state.evict(costly: false, cause: .countLimit, into: &departures)
            {}
            while state.totalCostLimit > 0, state.totalCost > Int128(state.totalCostLimit - cost),
                state.evict(costly: true, cause: .costLimit, into: &departures)
            {}
            let stamp = state.touch(key)
            state.entries[key] = Entry(
                value: value,
                cost: cost,
                stamp: stamp,
                deadline: deadline ?? .max,
                isDiscardable: isDiscardable
            )
            if deadline != nil { state.expires = true }
            state.totalCost += Int128(cost)
            state.statistics.insertions += 1
            return true
        }
    }

    /// Removes and returns the value for `key`.
    @discardableResult
    package func removeValue(forKey key: Key) -> Value? {
        var removed: Value?
        update { state, departures in
            state.remove(key, cause: .removed, into: &departures)
            removed = departures.first?.value
        }
        return removed
    }

    /// Removes everything.
    package func removeAll() {
        update { state, departures in
            for key in Array(state.entries.keys) { state.remove(key, cause: .removed, into: &departures) }
            state.order = []
            state.first = 0
            state.totalCost = 0
        }
    }

    /// Whether there is a value for `key`; no use of it, and no lookup in the statistics.
    package func contains(_ key: Key) -> Bool {
        return state.withLock { state in
            guard let entry = state.entries[key] else { return false }
            return entry.deadline == .max || entry.deadline > self.clock!.nanoseconds()
        }
    }

    // MARK: The whole

    /// Entries held, without those whose lifetime is over.
    package var count: Int {
        removeExpired()
        return state.withLock { $0.entries.count }
    }
    /// Sum of the costs held, without those whose lifetime is over; saturates at `Int.max`.
    package var totalCost: Int {
        removeExpired()
        return state.withLock { Int(clamping: $0.totalCost) }
    }
    /// What has happened so far.
    package var statistics: CacheStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.count = state.entries.count
            statistics.totalCost = Int(clamping: state.totalCost)
            return statistics
        }
    }
    /// Removes entries whose lifetime is over.
    package func removeExpired() {
        update { state, departures in
            if state.expires { state.expire(at: self.clock!.nanoseconds(), into: &departures) }
        }
    }
    /// Removes discardable values whose content is gone.
    package func removeDiscarded() {
        guard let hooks else { return }
        for (key, value) in snapshot() where hooks.isDiscarded(value) {
            update { state, departures in state.remove(key, cause: .discarded, into: &departures) }
        }
    }
    /// Evicts, least worth first, until `limit` entries are left.
    package func trim(toCount limit: Int) {
        update { state, departures in
            while state.entries.count > max(0, limit),
                state.evict(costly: false, cause: .countLimit, into: &departures)
            {}
        }
    }
    /// Evicts, least worth first, until the costs add up to `limit` at most; entries of cost 0 stay.
    package func trim(toCost limit: Int) {
        update { state, departures in
            while state.totalCost > max(0, limit), state.evict(costly: true, cause: .costLimit, into: &departures) {}
        }
    }
    /// Up to `limit` keys, those worth least first.
    package func coldestKeys(_ limit: Int) -> [Key] {
        Array(keysByWorth().prefix(max(0, limit)))
    }
    /// Up to `limit` keys, those worth most first.
    package func hottestKeys(_ limit: Int) -> [Key] {
        Array(keysByWorth().reversed().prefix(max(0, limit)))
    }
    /// All keys and values at some moment; no use of them.
    package func snapshot() -> [(key: Key, value: Value)] {
        var all: [(key: Key, value: Value)] = []
        state.withLock { state in all = state.entries.map { ($0.key, $0.value.value) } }
        return all
    }

    private func keysByWorth() -> [Key] {
        var keys: [Key] = []
        state.withLock { state in
            keys = state.entries.sorted { $0.value.stamp < $1.value.stamp }.map(\.key)
        }
        return keys
    }
}

extension CacheEngine: ReclaimableCache {
    package func revokeInsertionCredit() {}

    package var marginalPrice: Double { count == 0 ? .infinity : 1 }

    package var reclaimableBytes: Int {
        state.withLock {
            $0.totalCost > 0 ? Int(clamping: $0.totalCost) : $0.entries.count.multipliedReportingOverflow(by: 65536).0
        }
    }

    package func discardUnusedContent() -> Int {
        guard let hooks else { return 0 }
        for (_, value) in snapshot() { hooks.discardIfPossible(value) }
        let before = reclaimableBytes
        removeDiscarded()
        return before - reclaimableBytes
    }

    package func evict(bytes: Int, below price: Double) -> Int {
        update { state, departures in
            var freed = 0
            while freed < bytes {
                let cost = state.totalCost
                guard state.evict(costly: false, cause: .memoryPressure, into: &departures) else { break }
                freed += max(Int(clamping: cost - state.totalCost), cost == 0 ? 65536 : 0)
            }
            return freed
        }
    }
}
