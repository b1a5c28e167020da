//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// What programs do with an entry besides reading and setting it; each as its namesake of `MemoryCache`.
extension PurgeableCache {
    /// A copy of the bytes for `key`, or nil, as ``bytes(forKey:)``, but no use of them and no lookup in the
    /// statistics.
    ///
    /// - Complexity: O(*n*) in the bytes.
    public func peekBytes(forKey key: Key) -> [UInt8]? { keyed.peekValue(forKey: key) }

    /// The bytes for `key`, from the cache or else from `make`, whose bytes are stored. All as
    /// ``MemoryCache/value(forKey:orSet:)`` says.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - make: makes the bytes if there are none. Runs on this thread, outside every lock.
    /// - Returns: the bytes that were there, or are now; those that were refused, or overtaken by a removal, as well.
    /// - Throws: what `make` throws; nothing is stored then.
    public func bytes<E: Error>(forKey key: Key, orSet make: () throws(E) -> [UInt8]) throws(E) -> [UInt8] {
        if let bytes = bytes(forKey: key) { return bytes }
        return try loading.madeValue(forKey: key, make)
    }

    /// Changes the bytes for `key` so that no change of another thread is lost. All as
    /// ``MemoryCache/updateValue(forKey:_:)`` says: `change` runs again if the bytes have changed meanwhile, or if the
    /// cache has moved them. Nor can it tell whether bytes of up to 64 KiB are the same after 1,020 MiB were stored in the
    /// cache meanwhile: a `change` that stores as much itself, each time, runs without end.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - change: changes the bytes; nil removes them.
    /// - Returns: what `change` has left, whether it was stored or refused.
    /// - Throws: what `change` throws; the entry stays as it was.
    @discardableResult
    public func updateBytes<E: Error>(
        forKey key: Key,
        _ change: (inout [UInt8]?) throws(E) -> Void
    ) throws(E) -> [UInt8]? {
        while true {
            let (found, condition) = keyed.sight(key)
            var changed = found
            try change(&changed)
            loading.willChange(key)
            guard let bytes = changed else {
                if found == nil {
                    keyed.removeFallback(key)
                    // What has come meanwhile is to be removed, too.
                    if keyed.sight(key).bytes == nil { return nil }
                    continue
                }
                if keyed.remove(key, if: condition) { return nil }
                continue
            }
            let lifetime = loading.lifetimes.lifetime(of: bytes, forKey: key, given: nil)
            let outcome = bytes.withUnsafeBytes {
                keyed.set($0, forKey: key, expiresAfter: lifetime, if: condition)
            }
            if outcome != .changed { return bytes }
        }
    }

    /// Removes the bytes for `key` if `isUnknown` says so of them, and not what is stored meanwhile. Runs on this thread,
    /// outside every lock.
    ///
    /// No change of the key, as ``updateBytes(forKey:_:)`` would be: a load that is under way stores its result.
    func removeBytes(forKey key: Key, if isUnknown: ([UInt8]) -> Bool) {
        while true {
            let (found, condition) = keyed.sight(key)
            guard let found, isUnknown(found) else { return }
            if keyed.remove(key, if: condition) { return }
        }
    }

    /// Removes the bytes of the keys that `isInvalid` names; loads of such keys that are under way store nothing. All
    /// as ``MemoryCache/removeAll(where:)`` says.
    ///
    /// - Complexity: O(*n*).
    public func removeAll(where isInvalid: (Key) -> Bool) {
        loading.willRemoveAll(where: isInvalid)
        store.removeEach { isInvalid(KeyedStore<Key>.key(word: $0.word, $0.key)) }
    }

    /// Up to `limit` keys, those that would be kept longest first. A snapshot, and no use of the entries. What the
    /// kernel takes first is not known.
    ///
    /// - Complexity: O(*n* log *n*). Takes ordinary memory that no cache knows of: some 100 bytes for `limit` entries of
    ///   each of 32 parts, and for all entries of one part. In a small container a list of all is better asked for
    ///   inside of `MemoryReserve.withFree(bytes:_:)`.
    public func hottestKeys(_ limit: Int = .max) -> [Key] {
        store.listed(.hottest, limit).map { KeyedStore<Key>.key(word: $0.word, $0.key) }
    }

    /// Up to `limit` keys, those that would go next first. A snapshot, and no use of the entries.
    ///
    /// - Complexity: O(*n* log *n*), and memory as ``hottestKeys(_:)`` says.
    public func coldestKeys(_ limit: Int = .max) -> [Key] {
        store.listed(.coldest, limit).map { KeyedStore<Key>.key(word: $0.word, $0.key) }
    }

    /// Up to `limit` keys with copies of their bytes, those that would be kept longest first. A snapshot, and no use of
    /// the entries; what the kernel has taken is left out.
    ///
    /// - Complexity: O(*n* log *n*), and O(*n*) in the bytes that are copied. Takes memory for these, beside what
    ///   ``hottestKeys(_:)`` takes.
    public func entries(limit: Int = .max) -> [(key: Key, bytes: [UInt8])] {
        var most = limit
        while true {
            var entries: [(key: Key, bytes: [UInt8])] = []
            let listed = store.listed(.hottest, most)
            for listed in listed where entries.count < limit {
                let key = KeyedStore<Key>.key(word: listed.word, listed.key)
                if let bytes = keyed.sight(key).bytes { entries.append((key, bytes)) }
            }
            if listed.count < most || entries.count >= limit { return entries }
            most = most.saturatingAdding(most)
        }
    }

    /// Removes all expired entries, but for those that are still kept as fallbacks
    /// (``MemoryCacheOptions/keepsExpiredFor``). Lookups do not find them in any case; this frees their memory.
    public func removeExpired() { store.removeExpired() }
}
