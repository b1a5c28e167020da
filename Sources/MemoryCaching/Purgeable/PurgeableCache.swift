//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import PurgeableMemory

/// A cache of byte strings in memory that the kernel takes back by itself when it runs short.
///
/// Values are copied into pages that are marked as free to take. While there is room they stay; when the process, its
/// container or the machine needs memory, the kernel takes the oldest unread ones, instantly and without a callback.
/// A lookup either finds the right bytes or finds nothing; it never finds others. So a cache without limits may use
/// all memory that is left over and never gets its process killed.
///
/// ```swift
/// let thumbnails = PurgeableCache<String>(name: "thumbnails")
/// thumbnails.setBytes(encoded, forKey: path)
/// if let bytes = thumbnails.bytes(forKey: path) { show(bytes) }
/// ```
///
/// **Use it** for what can be made again and is bytes already, or cheap to turn into bytes: rendered pages, encoded
/// images, responses, decompressed blocks. Values of any size do; of small ones many share a page and go together.
/// **Do not use it** for objects (``MemoryCache`` does those) or for what cannot be made again.
///
/// An item takes its bytes, a tag of 8 bytes for each page that it reaches into, rounding to 8 bytes, and about 22
/// bytes of index, in which an integer key of up to 64 bits is included. Any other key takes its own size beside that.
///
/// Limits bound the values and hold after every call. Resident memory can be half as much again, because bytes of
/// replaced and removed values stay in their segments until these are cleaned; the kernel can take them too.
///
/// RLIMIT_AS and RLIMIT_DATA (`ulimit -v`, `ulimit -d`) count what is mapped, and the kernel takes no page for their
/// sake. Where one of them is the nearest limit, the cache leaves the reserve free itself, as ``MemoryCache`` does: it
/// evicts its oldest values, whole segments of them, and unmaps their pages. The limits are read again once a second.
/// What the allocator of the process cannot give ends the process, as everywhere in Swift, also where the index grows.
///
/// All members may be used from any thread at any time. The child of a `fork` makes caches of its own: the kernel
/// empties such pages in it, and to read or write in its parent's cache stops it with a message.
public final class PurgeableCache<Key: Hashable & Sendable>: Sendable {
    @usableFromInline let store: PurgeableStore
    /// Loads bytes into the store, and knows how long they live.
    @usableFromInline let loading: Loader<Key, [UInt8]>

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - name: a name for people: logs, metrics, debuggers.
    ///   - countLimit: values at most; 0 or less is no limit.
    ///   - totalCostLimit: bytes of values at most; 0 or less is no limit.
    ///   - options: lifetimes, removal handler and the rest. The removal handler is given a copy of the bytes, which
    ///     costs each departure that copy; it hears nothing of what the kernel has taken. Recompute costs do not count:
    ///     the kernel decides what goes first.
    public convenience init(
        name: String = "",
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        options: MemoryCacheOptions<Key, [UInt8]> = .init()
    ) {
        self.init(
            name: name,
            countLimit: countLimit,
            totalCostLimit: totalCostLimit,
            options: options,
            mayFallBack: nil
        )
    }

    /// A cache whose expired bytes are a fallback only where `mayFallBack`, if there is one, says so. It runs outside every
    /// lock.
    convenience init(
        name: String,
        countLimit: Int,
        totalCostLimit: Int,
        options: MemoryCacheOptions<Key, [UInt8]>,
        mayFallBack: (@Sendable ([UInt8]) -> Bool)?
    ) {
        self.init(
            name: name,
            countLimit: countLimit,
            totalCostLimit: totalCostLimit,
            options: options,
            pool: .shared,
            governor: options.evictsUnderMemoryPressure ? .listening(to: options.pressureMonitor) : nil,
            mayFallBack: mayFallBack
        )
    }

    var keyed: KeyedStore<Key> { KeyedStore(store) }

    /// A cache over pages of the caller's making, for tests.
    convenience init(
        countLimit: Int = 0,
        totalCostLimit: Int = 0,
        options: MemoryCacheOptions<Key, [UInt8]> = .init(),
        system: PageSystem,
        ordinaryLimit: Int? = nil,
        governor: MemoryGovernor = .shared
    ) {
        let pool = PurgeablePool(system: system)
        self.init(
            name: "",
            countLimit: countLimit,
            totalCostLimit: totalCostLimit,
            options: options,
            log: SegmentLog(arena: PageArena(pages: .base, system: system), usage: pool.usage),
            pool: pool,
            governor: governor,
            ordinaryLimit: ordinaryLimit
        )
    }

    private init(
        name: String,
        countLimit: Int,
        totalCostLimit: Int,
        options: MemoryCacheOptions<Key, [UInt8]>,
        log: SegmentLog? = nil,
        pool: PurgeablePool,
        governor: MemoryGovernor?,
        ordinaryLimit: Int? = nil,
        mayFallBack: (@Sendable ([UInt8]) -> Bool)? = nil
    ) {
        var observer: PurgeableStore.Observer?
        if let handler = options.removalHandler {
            observer = { word, key, bytes, cause in handler(KeyedStore<Key>.key(word: word, key), bytes, cause) }
        }
        store = PurgeableStore(
            name: name,
            countLimit: countLimit,
            totalCostLimit: totalCostLimit,
            keys: KeyedStore<Key>.makeKeyStorage(),
            log: log ?? SegmentLog(usage: pool.usage),
            pool: pool,
            governor: governor,
            ordinaryLimit: ordinaryLimit,
            lifetimes: EntryLifetimes(
                clock: options.clock,
                idle: options.expiresAfterAccess,
                fallback: options.keepsExpiredFor
            ),
            observer: observer
        )
        loading = Loader(
            into: KeyedStore(store, mayFallBack: mayFallBack),
            options: options,
            clock: store.lifetimes.clock,
            cost: nil
        )
    }

    // MARK: Settings

    /// A name for people: logs, metrics, debuggers. Empty by default.
    public var name: String {
        get { store.nameValue.withLock { $0 } }
        set { store.nameValue.withLock { $0 = newValue } }
    }

    /// Values at most; 0 or less is no limit. Lowering it evicts at once, on this thread.
    public var countLimit: Int {
        get { store.room.countLimit }
        set {
            store.room.countLimit = newValue
            store.enforceLimits()
        }
    }

    /// Bytes of values at most; 0 or less is no limit. Lowering it evicts at once, on this thread.
    public var totalCostLimit: Int {
        get { store.room.totalCostLimit }
        set {
            store.room.totalCostLimit = newValue
            store.enforceLimits()
        }
    }

    // MARK: Access

    /// Stores a copy of `bytes`, replacing what was stored for `key`.
    ///
    /// A value larger than `totalCostLimit`, or one for which the system has no memory, is not stored: it is counted in
    /// ``CacheStatistics/refusals``, the removal handler is told of it, and what was stored for the key goes too. Nor are
    /// bytes stored whose key's `==` runs code of yours, if entries of the same hash have come and gone with each of
    /// 1,024 comparisons: they count as set before the last of them.
    ///
    /// - Returns: whether the bytes were stored.
    /// - Complexity: O(*n*) in the bytes, amortised.
    @inlinable
    @discardableResult
    public func setBytes(_ bytes: RawSpan, forKey key: Key) -> Bool {
        bytes.withUnsafeBytes { set($0, forKey: key, expiresAfter: nil) }
    }

    /// Stores a copy of `bytes`, replacing what was stored for `key`. See ``setBytes(_:forKey:)-(RawSpan,_)``.
    ///
    /// The collection is read outside of every lock.
    ///
    /// - Complexity: O(*n*) in the bytes, amortised.
    @inlinable
    @discardableResult
    public func setBytes(_ bytes: some Collection<UInt8>, forKey key: Key) -> Bool {
        set(bytes, forKey: key, expiresAfter: nil)
    }

    /// Stores a copy of `bytes` for `lifetime`, replacing what was stored for `key`.
    ///
    /// - Returns: whether the bytes were stored; see ``setBytes(_:forKey:)-(RawSpan,_)``.
    /// - Complexity: O(*n*) in the bytes, amortised.
    @inlinable
    @discardableResult
    public func setBytes(_ bytes: some Collection<UInt8>, forKey key: Key, expiresAfter lifetime: Duration) -> Bool {
        set(bytes, forKey: key, expiresAfter: lifetime)
    }

    @inlinable
    func set(_ bytes: some Collection<UInt8>, forKey key: Key, expiresAfter lifetime: Duration?) -> Bool {
        bytes.withContiguousStorageIfAvailable {
            set(UnsafeRawBufferPointer($0), forKey: key, expiresAfter: lifetime)
        } ?? Array(bytes).withUnsafeBytes { set($0, forKey: key, expiresAfter: lifetime) }
    }

    /// Inlined where the key's type is known: what is compiled for any key asks the runtime for types at every step,
    /// 900 instructions beside the 1,400 of the rest.
    @inlinable
    func set(_ bytes: UnsafeRawBufferPointer, forKey key: Key, expiresAfter lifetime: Duration?) -> Bool {
        if let word = KeyedStore.integerWord(of: key), !loading.isListening, !loading.lifetimes.isVarying,
            !store.hasObserver
        {
            return store.set(bytes, integer: word, expiresAfter: lifetime ?? loading.lifetimes.afterWrite)
        }
        return setGeneral(bytes, forKey: key, expiresAfter: lifetime)
    }

    @usableFromInline
    func setGeneral(_ bytes: UnsafeRawBufferPointer, forKey key: Key, expiresAfter lifetime: Duration?) -> Bool {
        loading.willChange(key)
        // Options that look at the value are given a copy of it.
        let lifetime = loading.lifetimes.lifetime(of: Array(bytes), forKey: key, given: lifetime)
        return keyed.set(bytes, forKey: key, expiresAfter: lifetime) == .stored
    }

    /// A copy of the bytes for `key`, or nil if there are none or the kernel has taken them.
    ///
    /// Optimistic: the bytes are copied and then checked, without a system call, and stay free to take.
    ///
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func bytes(forKey key: Key) -> [UInt8]? {
        guard let word = KeyedStore.integerWord(of: key) else { return store.bytes(forKey: key) }
        return store.bytes(integer: word)
    }

    /// Calls `body` with the bytes for `key`; nil if there are none or the kernel has taken them. They stay as they are
    /// until `body` returns.
    ///
    /// Values up to 64 KiB are copied for the duration, larger ones held in place.
    ///
    /// - Complexity: O(*n*) in the bytes, besides `body`.
    @inlinable
    public func withBytes<R, E>(forKey key: Key, _ body: (RawSpan) throws(E) -> R) throws(E) -> R? {
        // Here the types are known, and nobody else need know them.
        var result: Result<R, E>?
        lend(forKey: key) { bytes in
            do throws(E) { result = .success(try body(bytes)) } catch { result = .failure(error) }
        }
        return try result?.get()
    }

    @inlinable
    func lend(forKey key: Key, to body: (RawSpan) -> Void) {
        guard let word = KeyedStore.integerWord(of: key) else { return store.lend(forKey: key, to: body) }
        store.lend(integer: word, to: body)
    }

    /// Removes the bytes for `key` and says whether there were any.
    ///
    /// - Complexity: O(1) on average.
    @discardableResult
    public func removeBytes(forKey key: Key) -> Bool {
        loading.willChange(key)
        return keyed.remove(key)
    }

    /// Removes everything.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        loading.willRemoveAll()
        if store.hasObserver {
            // A few at a time: copies of all values could be more than ordinary memory has room for.
            store.removeExpired()
            store.removeEach { _ in true }
        }
        store.removeAll()
        store.tellRemovals()
    }

    /// Whether there are bytes for `key`. Counts as no use and touches no page.
    ///
    /// - Complexity: O(1) on average.
    public func contains(_ key: Key) -> Bool {
        keyed.contains(key)
    }

    // MARK: The whole

    /// Values held, without those that the kernel has taken, as far as a census of the pages can tell. Of values above
    /// 64 KiB a census asks about 64, by turns.
    ///
    /// - Complexity: O(pages), 0.25 ms for 256 MiB; O(*n*) where the kernel has taken some since the last census.
    public var count: Int {
        store.removeExpired()
        store.maintain(.question)
        store.tellRemovals()
        return store.room.count
    }

    /// Bytes of values held, like ``count``.
    public var totalCost: Int {
        store.removeExpired()
        store.maintain(.question)
        store.tellRemovals()
        return store.room.byteCount
    }

    /// Evicts values until `count` are left, those first that were not read lately.
    public func trim(toCount count: Int) {
        store.trim(toCount: count)
    }

    /// Evicts values until they hold `cost` bytes at most, those first that were not read lately.
    public func trim(toCost cost: Int) {
        store.trim(toCost: cost)
    }

    /// What the cache has done so far, and what it holds.
    public var statistics: CacheStatistics {
        var statistics = store.statistics
        loading.counters.add(to: &statistics)
        store.tellRemovals()
        return statistics
    }
}
