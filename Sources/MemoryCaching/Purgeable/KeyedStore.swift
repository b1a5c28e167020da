//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// A ``PurgeableStore`` by its keys: integers are words, other keys are hashed and kept beside the index.
@usableFromInline
struct KeyedStore<Key: Hashable & Sendable>: Sendable {
    let store: PurgeableStore
    /// Whether these expired bytes may be a fallback; nil where all may.
    private let mayFallBack: (@Sendable ([UInt8]) -> Bool)?

    init(_ store: PurgeableStore, mayFallBack: (@Sendable ([UInt8]) -> Bool)? = nil) {
        self.store = store
        self.mayFallBack = mayFallBack
    }

    /// The bits of an integer key; nil for all other keys. Decided at compile time where the key type is known.
    @inlinable
    @inline(__always)
    static func integerWord(of key: Key) -> UInt64? { KeyHash<Key>.isInteger ? KeyHash<Key>.bits(of: key) : nil }

    static func makeKeyStorage() -> KeyStorage? { KeyHash<Key>.isInteger ? nil : KeySlots<Key>() }

    /// The key of an entry that has left, or is listed.
    static func key(word: UInt64, _ key: Any?) -> Key {
        if let key { return key as! Key }
        // Of the types of ``integerWord(of:)``, whose first bytes are the word's on little-endian machines.
        return withUnsafePointer(to: word.littleEndian) {
            UnsafeRawPointer($0).assumingMemoryBound(to: Key.self).pointee
        }
    }

    func set(
        _ bytes: UnsafeRawBufferPointer,
        forKey key: Key,
        expiresAfter lifetime: Duration?,
        if condition: PurgeableStore.Condition? = nil
    ) -> InsertionOutcome {
        let outcome = store.withMatching(key) { store.set(bytes, $0, expiresAfter: lifetime, if: condition) }
        if outcome == .refused, store.hasObserver {
            let word = Self.integerWord(of: key)
            let refused = PurgeableDeparture(
                word: word ?? 0,
                key: word == nil ? key : nil,
                bytes: Array(bytes),
                large: nil
            )
            store.putOff([refused], .costLimit)
            store.tellRemovals()
        }
        return outcome
    }

    func remove(_ key: Key, if condition: PurgeableStore.Condition? = nil) -> Bool {
        defer { store.tellRemovals() }
        return store.withMatching(key) { store.remove($0, if: condition) }
    }

    /// Removes the entry for `key` if it is there as a fallback alone.
    func removeFallback(_ key: Key) {
        guard store.lifetimes.fallback > 0 else { return }
        store.withMatching(key) { store.removeFallback($0) }
        store.tellRemovals()
    }

    func sight(
        _ key: Key,
        countsFallback: Bool = false
    ) -> (bytes: [UInt8]?, condition: PurgeableStore.Condition) {
        store.withMatching(key) { store.sight($0, countsFallback: countsFallback) }
    }
}

extension KeyedStore: LoadStore {
    var name: String { store.nameValue.withLock { $0 } }

    /// None: the store counts bytes itself.
    var totalCostLimit: Int { 0 }

    func value(forKey key: Key) -> [UInt8]? { store.bytes(forKey: key) }

    func fallback(forKey key: Key) -> [UInt8]? {
        guard store.lifetimes.fallback > 0, let bytes = sight(key, countsFallback: true).bytes else { return nil }
        return mayFallBack?(bytes) ?? true ? bytes : nil
    }

    func peekValue(forKey key: Key) -> [UInt8]? { sight(key).bytes }

    func removeDiscarded(forKey key: Key) {
        let (bytes, condition) = sight(key)
        if bytes == nil { _ = remove(key, if: condition) }
    }

    func contains(_ key: Key) -> Bool { store.withMatching(key) { store.contains($0) } }

    func valueWithDeadline(forKey key: Key) -> (value: [UInt8], deadline: EntryDeadline, now: Int64)? {
        guard let bytes = value(forKey: key) else { return nil }
        // One that has come since has a later deadline, which is not stale yet.
        return (bytes, deadline(forKey: key) ?? .never, store.lifetimes.clock.nanoseconds())
    }

    func deadline(forKey key: Key) -> EntryDeadline? { store.withMatching(key) { store.deadline($0) } }

    func noteFailedRefresh(of key: Key, deadline: Int64) {
        store.withMatching(key) { store.noteFailedRefresh($0, deadline: deadline) }
    }

    func insert(
        _ value: [UInt8],
        forKey key: Key,
        cost: Int,
        recomputeCost: Double?,
        expiresAfter lifetime: Duration?,
        ticket: LoadTicket
    ) -> InsertionOutcome {
        value.withUnsafeBytes { set($0, forKey: key, expiresAfter: lifetime, if: .ticket(ticket)) }
    }
}

// What a cache asks of the store itself: to make a ``KeyedStore`` counts a reference to it, and every thread would write
// that count.
extension PurgeableStore {
    /// Calls `body` with what tells the entry of `key` from others.
    @inline(__always)
    func withMatching<Key: Hashable & Sendable, R>(_ key: Key, _ body: (KeyMatching) -> R) -> R {
        if let word = KeyedStore.integerWord(of: key) { return body(KeyMatching(integer: word)) }
        let word = KeyHash.word(of: key, seed: seed)
        let isHarmless = KeyHash.isHarmless(key)
        return withUnsafePointer(to: key) {
            // There is a storage, see `KeyedStore.makeKeyStorage()`.
            let matching = KeyMatching(UnsafeRawPointer($0), in: keys!, word: word, isHarmless: isHarmless)
            if !isHarmless { compareBefore(matching) }
            return body(matching)
        }
    }

    @usableFromInline
    func bytes<Key: Hashable & Sendable>(forKey key: Key) -> [UInt8]? { withMatching(key) { bytes($0) } }

    @usableFromInline
    func bytes(integer word: UInt64) -> [UInt8]? { bytes(KeyMatching(integer: word)) }

    @usableFromInline
    func lend<Key: Hashable & Sendable>(forKey key: Key, to body: (RawSpan) -> Void) {
        withMatching(key) { lend($0, to: body) }
    }

    @usableFromInline
    func lend(integer word: UInt64, to body: (RawSpan) -> Void) {
        lend(KeyMatching(integer: word), to: body)
    }

    @usableFromInline
    func set(_ bytes: UnsafeRawBufferPointer, integer word: UInt64, expiresAfter lifetime: Duration?) -> Bool {
        set(bytes, KeyMatching(integer: word), expiresAfter: lifetime) == .stored
    }
}
