//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// A thread-safe, in-memory cache that keeps what is worth keeping and gives memory back when the process runs short.
///
/// A cache is a dictionary that may forget. Set values with what they cost in bytes, and with what it took to make
/// them where that is known; the cache keeps those whose chance of reuse × recompute cost per byte is highest:
///
/// ```swift
/// let images = MemoryCache<URL, Image>(name: "images", totalCostLimit: 64 << 20) { _, image in image.byteCount }
/// images[url] = image
/// if let image = images[url] { draw(image) }
/// ```
///
/// **Promises.** A value is in the cache when `setValue` returns, unless it is refused. From then on it is an entry
/// like others, which an insertion by another thread may evict. Refused is:
///
/// - A value whose cost alone is larger than `totalCostLimit`, and what was stored under its key is removed.
/// - A value for a new key if, after it has displaced one entry, it would have to displace others that are
///   worth more. A value that replaces another is never refused for its worth.
/// - A value whose key's `==` runs code of yours, if entries of the same hash have come and gone with each of 1,024
///   comparisons: it counts as set before the last of them.
///
/// A refusal is counted in ``CacheStatistics/refusals``, `setValue` returns false, and the removal handler is called
/// once with ``RemovalCause/costLimit``. Limits hold for the whole cache after every call returns, with any number of
/// threads, also while they are changed. A lookup beside a replacement finds the old value or the new one. Entries of
/// cost 0 are never evicted for the cost limit. None of your code (`hash(into:)` of unusual keys, `==`, handlers,
/// deinitialisers) runs under a lock, so all of it may use the cache. No insertion waits for room that another one
/// holds; values that are large beside the limit are inserted one at a time. No insertion sweeps more than some dozens
/// of expired entries, or as many as stand in the way of a value that is large beside the limit.
///
/// **Complexity.** Lookups and removals take O(1) on average, insertions amortised O(1), evictions among them.
///
/// All members may be used from any thread at any time.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    package let engine: CacheEngine<Key, Value>

    /// Loads values into the engine, and knows what a value costs and how long it lives.
    @usableFromInline
    let loading: Loader<Key, Value>

    /// Whether values go stale before their lifetime is over. A copy of the loader's, of which a hit needs nothing
    /// else: so it does not read the loader's memory.
    @usableFromInline
    let hasStaleWindow: Bool

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - name: a name for people: logs, metrics, debuggers.
    ///   - countLimit: entries at most; 0 or less is no limit.
    ///   - totalCostLimit: sum of the entries' costs at most, in bytes by convention; 0 or less is no limit.
    ///   - options: removal handler, lifetimes and the rest.
    ///   - cost: what a value costs, for those that are set without saying. Runs on the caller's thread, outside every
    ///     lock. Negative costs count as 0. Without a closure, values are measured under a cost limit; see
    ///     ``CacheCostProviding``.
    @inlinable
    public convenience init(
        name: String = "",
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        options: MemoryCacheOptions<Key, Value> = .init(),
        cost: (@Sendable (Key, Value) -> Int)? = nil
    ) {
        // Inlinable for this closure: so the caller's module compiles it for the key and the value.
        self.init(name, countLimit, totalCostLimit, options, cost, specialized: { $0.perform($1) })
    }

    @usableFromInline
    init(
        _ name: String,
        _ countLimit: Int,
        _ totalCostLimit: Int,
        _ options: MemoryCacheOptions<Key, Value>,
        _ cost: (@Sendable (Key, Value) -> Int)?,
        specialized: @escaping CacheEngine<Key, Value>.Specialized
    ) {
        engine = CacheEngine(
            name,
            countLimit,
            totalCostLimit,
            .worth,
            .discardableContent(),
            options.clock,
            options.expiresAfterAccess,
            options.keepsExpiredFor,
            options.evictsUnderMemoryPressure ? .listening(to: options.pressureMonitor) : nil,
            specialized: specialized
        )
        engine.removalObserver = options.removalHandler
        loading = Loader(into: engine, options: options, clock: engine.lifetimes.clock, cost: cost)
        hasStaleWindow = loading.hasStaleWindow
    }

    // MARK: Settings

    /// A name for people: logs, metrics, debuggers. Empty by default.
    public var name: String {
        get { engine.name }
        set { engine.name = newValue }
    }

    /// Entries at most; 0 or less is no limit. Lowering it evicts at once, on this thread.
    public var countLimit: Int {
        get { engine.countLimit }
        set { engine.countLimit = newValue }
    }

    /// Sum of costs at most, in bytes by convention; 0 or less is no limit. Lowering it evicts at once, on this thread.
    /// Values that were stored without a cost while there was no limit keep the cost 0.
    public var totalCostLimit: Int {
        get { engine.totalCostLimit }
        set { engine.totalCostLimit = newValue }
    }

    /// Whether a value whose content has been discarded leaves the cache when it is looked up or swept; `true` by
    /// default. Matters only for values that conform to `DiscardableContent`.
    ///
    /// When memory is said to run short, by a signal or because the process is about to reach its limit, the cache
    /// discards content that nobody accesses. A value that leaves it for another reason, such as room for insertions,
    /// keeps its content, for whoever still has it; in `NSCache` it loses it.
    public var evictsValuesWithDiscardedContent: Bool {
        get { engine.evictsValuesWithDiscardedContent }
        set { engine.evictsValuesWithDiscardedContent = newValue }
    }

    // MARK: Access

    /// The value for `key`, as ``value(forKey:)``.
    ///
    /// - Complexity: O(1) on average.
    @inlinable
    public subscript(key: Key) -> Value? {
        @inline(always) get { value(forKey: key) }
    }

    /// Stores a value for `key` as ``setValue(_:forKey:)``, or removes it by nil.
    ///
    /// A subscript of its own, so that `cache["n"]! += 1` does not compile: between its reading and its writing another
    /// thread's change would be lost. ``updateValue(forKey:_:)`` is atomic. The second parameter only tells the two
    /// apart; leave it out.
    ///
    /// - Complexity: O(1) on average.
    @inlinable
    public subscript(key: Key, setting: Void = ()) -> Value? {
        @available(*, unavailable, message: "a change in place is not atomic; use updateValue(forKey:_:)")
        get { value(forKey: key) }
        set {
            if let newValue { setValue(newValue, forKey: key) } else { removeValue(forKey: key) }
        }
    }

    /// The value for `key`, or nil if there is none, its lifetime is over or its content was discarded. Counts as a
    /// use, which makes the entry worth more.
    ///
    /// - Complexity: O(1) on average; allocates nothing.
    @inlinable
    @inline(always)
    public func value(forKey key: Key) -> Value? { engine.value(forKey: key) }

    /// Stores `value` at the cost that the cache's closure names. Where there is no closure, the cost is measured if
    /// there is a ``totalCostLimit`` (see ``CacheCostProviding``), and 0 otherwise.
    ///
    /// - Complexity: O(1) on average, amortised.
    /// - Returns: whether the value was stored; see ``setValue(_:forKey:cost:recomputeCost:expiresAfter:)``.
    /// - Precondition: with a ``totalCostLimit`` and no closure, the value's type can be measured.
    @inlinable
    @discardableResult
    public func setValue(_ value: Value, forKey key: Key) -> Bool {
        setValue(value, forKey: key, cost: cost(of: value, forKey: key))
    }

    /// What `value` costs where the caller does not say.
    @inlinable
    func cost(of value: Value, forKey key: Key) -> Int {
        loading.cost(of: value, forKey: key, limit: engine.limits.cost.load(ordering: .relaxed))
    }

    /// Stores `value`, evicting others of the least worth where the limits ask for it.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: its key.
    ///   - cost: what it takes of `totalCostLimit`, in bytes by convention. Negative costs count as 0.
    ///   - recomputeCost: what it took to make the value, in any unit that is the same for the whole cache; nil,
    ///     negative or not a number where unknown, which counts as 1. More than 10¹⁵ counts as 10¹⁵.
    ///   - lifetime: how long it stays at most; nil for the cache's default.
    /// - Returns: whether the value was stored. It is refused if its cost alone is larger than `totalCostLimit`, and if
    ///   its key is new and it is worth less than the entries that it would displace after the first one.
    /// - Complexity: O(1) on average, amortised.
    @inlinable
    @discardableResult
    public func setValue(
        _ value: Value,
        forKey key: Key,
        cost: Int,
        recomputeCost: Double? = nil,
        expiresAfter lifetime: Duration? = nil
    ) -> Bool {
        loading.willChange(key)
        return engine.setValue(
            value,
            forKey: key,
            cost: cost,
            recomputeCost: recomputeCost,
            expiresAfter: loading.lifetimes.lifetime(of: value, forKey: key, given: lifetime)
        )
    }

    /// Stores `value` for `lifetime` at the cost that ``setValue(_:forKey:)`` finds.
    ///
    /// - Returns: whether the value was stored; see ``setValue(_:forKey:cost:recomputeCost:expiresAfter:)``.
    /// - Complexity: O(1) on average, amortised.
    @inlinable
    @discardableResult
    public func setValue(_ value: Value, forKey key: Key, expiresAfter lifetime: Duration) -> Bool {
        setValue(value, forKey: key, cost: cost(of: value, forKey: key), expiresAfter: lifetime)
    }

    /// Removes the value for `key` and returns it, or returns nil if there is none.
    ///
    /// - Complexity: O(1) on average.
    @inlinable
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        loading.willChange(key)
        return engine.removeValue(forKey: key)
    }

    /// Removes all entries. Values are released one after the other, outside every lock.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        loading.willRemoveAll()
        engine.removeAll()
    }

    /// Whether there is a value for `key`, be it one whose content has been discarded and that the next lookup drops.
    /// Touches nothing: neither the entry's worth nor the statistics.
    ///
    /// - Complexity: O(1) on average.
    @inlinable
    public func contains(_ key: Key) -> Bool { engine.contains(key) }

    // MARK: The whole

    /// Entries held, without those whose lifetime is over, unless ``MemoryCacheOptions/keepsExpiredFor`` keeps them.
    public var count: Int { engine.count }

    /// Sum of the costs held; saturates at `Int.max`.
    public var totalCost: Int { engine.totalCost }

    /// Evicts entries, those of the least worth first, until `count` are left.
    public func trim(toCount count: Int) { engine.trim(toCount: count) }

    /// Evicts entries, those of the least worth first, until the costs add up to `cost` at most. Entries of cost 0
    /// stay.
    public func trim(toCost cost: Int) { engine.trim(toCost: cost) }

    /// Up to `limit` keys, those that would be kept longest first. A snapshot, and no use of the entries. Keys whose
    /// content has been discarded may be among them.
    ///
    /// - Complexity: O(*n* log *n*). Takes memory that no cache knows of: some 50 bytes for `limit` entries of each of up
    ///   to 128 parts, and for all entries of one part. In a small container a list of all is better asked for inside of
    ///   `MemoryReserve.withFree(bytes:_:)`.
    public func hottestKeys(_ limit: Int = .max) -> [Key] { engine.hottestKeys(limit) }

    /// Up to `limit` keys, those that would go next first. A snapshot, and no use of the entries. An eviction spares 32
    /// used entries at most, so that no insertion takes long: where more of them stand in front, one of those goes. A
    /// cache of more than some 4,096 entries has up to 128 parts, of which an eviction takes the coldest of one: it is
    /// among the first here, as many as there are parts, and seldom the very first.
    ///
    /// - Complexity: O(*n* log *n*), and memory as ``hottestKeys(_:)`` says.
    public func coldestKeys(_ limit: Int = .max) -> [Key] { engine.coldestKeys(limit) }

    /// What the cache has done so far, and what it holds.
    public var statistics: CacheStatistics {
        var statistics = engine.statistics
        loading.counters.add(to: &statistics)
        return statistics
    }
}
