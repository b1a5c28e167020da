//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// What programs do with an entry besides reading and setting it.
extension MemoryCache {
    /// The value for `key`, or nil, as ``value(forKey:)``, but no use of it: neither its worth nor the statistics
    /// change, and its time since the last use goes on.
    ///
    /// - Complexity: O(1) on average; allocates nothing.
    @inlinable
    public func peekValue(forKey key: Key) -> Value? { engine.peekValue(forKey: key) }

    /// The value for `key`, from the cache or else from `make`, whose value is stored.
    ///
    /// ```swift
    /// let pattern = patterns.value(forKey: text) { Pattern(text) }
    /// ```
    ///
    /// Threads that miss at the same time each call their `make`; the value that is stored first is the one that all of
    /// them return. Where the value is dear, ``value(forKey:load:)`` calls one closure for all.
    ///
    /// `make` runs on this thread, outside every lock, and may use the cache, this key included. If the key is removed
    /// meanwhile, its value is returned but not stored: it may have been made of what is no longer so. A load of the
    /// key that is under way goes on, and its callers get this value, too, if it is stored first.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - make: makes the value if there is none. It is stored as by ``setValue(_:forKey:)``, also refused.
    /// - Returns: the value that was there, or is now; one that was refused, or overtaken by a removal, as well.
    /// - Throws: what `make` throws; nothing is stored then.
    /// - Complexity: O(1) on average, besides `make`.
    @inlinable
    public func value<E: Error>(forKey key: Key, orSet make: () throws(E) -> Value) throws(E) -> Value {
        if let value = value(forKey: key) { return value }
        return try loading.madeValue(forKey: key, make)
    }

    /// Changes the value for `key` so that no change of another thread is lost.
    ///
    /// ```swift
    /// counts.updateValue(forKey: word) { $0 = ($0 ?? 0) + 1 }
    /// ```
    ///
    /// `change` is given the value, or nil where there is none, and leaves in its place what is to be stored; nil
    /// removes the entry. It runs on this thread, outside every lock, and may use the cache. If the entry has changed
    /// meanwhile (another thread has set, updated or removed it, or it was evicted), nothing is stored and `change`
    /// runs again, on what is there then: it should do nothing else than change the value. For as long as other threads
    /// are faster, it goes on. A change that was undone meanwhile, so that the entry is as it was, is not noticed.
    ///
    /// What it leaves is stored as by ``setValue(_:forKey:)``, with that cost and lifetime. A load of the key that is
    /// under way stores nothing. Changing an object that the value refers to is no change of the value.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - change: changes the value.
    /// - Returns: what `change` has left, whether it was stored or refused.
    /// - Throws: what `change` throws; the entry stays as it was.
    /// - Complexity: O(1) on average, besides `change`.
    @inlinable
    @discardableResult
    public func updateValue<E: Error>(
        forKey key: Key,
        _ change: (inout Value?) throws(E) -> Void
    ) throws(E) -> Value? {
        // At least as well aligned as the value; the bits are compared as bytes.
        let bits = UnsafeMutableRawPointer.allocate(byteCount: max(1, MemoryLayout<Value>.size), alignment: 16)
        defer { bits.deallocate() }
        while true {
            let sighting = engine.sight(key, copyingBitsTo: bits)
            defer { withExtendedLifetime(sighting) {} }
            var changed = sighting.value
            try change(&changed)
            loading.willChange(key)
            if let value = changed {
                let outcome = engine.insert(
                    value,
                    forKey: key,
                    cost: cost(of: value, forKey: key),
                    recomputeCost: nil,
                    expiresAfter: loading.lifetimes.lifetime(of: value, forKey: key, given: nil),
                    if: sighting.condition
                )
                if outcome != .changed { return value }
            } else if sighting.bits == nil {
                engine.removeFallback(forKey: key)
                // What has come meanwhile is to be removed, too.
                if engine.sight(key, copyingBitsTo: nil).stored == nil { return nil }
            } else if engine.removeValue(forKey: key, if: sighting.condition) {
                return nil
            }
        }
    }

    /// Removes the entries whose keys `isInvalid` names; loads of such keys that are under way store nothing.
    ///
    /// When the call returns, the cache holds nothing of such keys that was there, or began to be loaded, before the
    /// call. What others set meanwhile may stay or go. `isInvalid` runs on this thread, outside every lock, for every
    /// key of the cache and every load under way.
    ///
    /// - Complexity: O(*n*).
    public func removeAll(where isInvalid: (Key) -> Bool) {
        loading.willRemoveAll(where: isInvalid)
        engine.removeAll(where: isInvalid)
    }

    /// Up to `limit` keys with their values, those that would be kept longest first. A snapshot, and no use of the
    /// entries.
    ///
    /// - Complexity: O(*n* log *n*), and memory as ``hottestKeys(_:)`` says.
    public func entries(limit: Int = .max) -> [(key: Key, value: Value)] { engine.entries(limit: limit) }
}
