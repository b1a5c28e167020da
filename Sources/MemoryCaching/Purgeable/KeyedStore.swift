//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety

/// A ``PurgeableStore`` by its keys: integers are words, other keys are hashed and kept beside the index.
@usableFromInline
struct KeyedStore<Key: Hashable & Sendable>: Sendable {
    @usableFromInline let store: PurgeableStore

    init(_ store: PurgeableStore) { self.store = store }

    /// The bits of an integer key; nil for all other keys. Decided at compile time where the key type is known.
    @inlinable
    @inline(__always)
    static func integerWord(of key: Key) -> UInt64? { KeyHash<Key>.isInteger ? KeyHash<Key>.bits(of: key) : nil }

    static func makeKeyStorage() -> KeyStorage? { KeyHash<Key>.isInteger ? nil : KeySlots<Key>() }

    /// The word that stands for a key that is no integer.
    func hashWord(of key: Key) -> UInt64 { KeyHash.word(of: key, seed: store.seed) }

    var slots: KeySlots<Key> { unsafeDowncast(store.keys!, to: KeySlots<Key>.self) }

    func matching(_ key: Key) -> KeyValueMatching<Key> { KeyValueMatching(key, in: slots) }

    /// The key of an entry that has left, or is listed.
    static func key(word: UInt64, _ key: Any?) -> Key {
        if let key { return key as! Key }
        // Of the types of ``integerWord(of:)``, whose first bytes are the word's on little-endian machines.
        return withUnsafePointer(to: word.littleEndian) {
            UnsafeRawPointer($0).assumingMemoryBound(to: Key.self).pointee
        }
    }

    @usableFromInline
    func bytes(forGeneralKey key: Key) -> [UInt8]? {
        store.bytes(word: hashWord(of: key), matching: matching(key))
    }

    func set(
        _ bytes: UnsafeRawBufferPointer,
        forKey key: Key,
        expiresAfter lifetime: Duration?,
        if condition: PurgeableStore.Condition? = nil
    ) -> InsertionOutcome {
        let word = Self.integerWord(of: key)
        let outcome =
            if let word {
                store.set(bytes, word: word, matching: WordMatching(), expiresAfter: lifetime, if: condition)
            } else {
                store.set(
                    bytes,
                    word: hashWord(of: key),
                    matching: matching(key),
                    expiresAfter: lifetime,
                    if: condition
                )
            }
        if outcome == .refused, let observer = store.observer {
            observer(word ?? 0, word == nil ? key : nil, Array(bytes), .costLimit)
        }
        return outcome
    }

    func remove(_ key: Key, if condition: PurgeableStore.Condition? = nil) -> Bool {
        defer { store.tellRemovals() }
        guard let word = Self.integerWord(of: key) else {
            return store.remove(word: hashWord(of: key), matching: matching(key), if: condition)
        }
        return store.remove(word: word, matching: WordMatching(), if: condition)
    }

    /// Removes the entry for `key` if it is there as a fallback alone.
    func removeFallback(_ key: Key) {
        guard store.lifetimes.fallback > 0 else { return }
        if let word = Self.integerWord(of: key) {
            store.removeFallback(word: word, matching: WordMatching())
        } else {
            store.removeFallback(word: hashWord(of: key), matching: matching(key))
        }
        store.tellRemovals()
    }

    func sight(
        _ key: Key,
        countsFallback: Bool = false
    ) -> (bytes: [UInt8]?, condition: PurgeableStore.Condition) {
        guard let word = Self.integerWord(of: key) else {
            return store.sight(word: hashWord(of: key), matching: matching(key), countsFallback: countsFallback)
        }
        return store.sight(word: word, matching: WordMatching(), countsFallback: countsFallback)
    }
}

extension KeyedStore: LoadStore {
    var name: String { store.nameValue.withLock { $0 } }

    /// None: the store counts bytes itself.
    var totalCostLimit: Int { 0 }

    @usableFromInline
    func value(forKey key: Key) -> [UInt8]? {
        guard let word = Self.integerWord(of: key) else { return bytes(forGeneralKey: key) }
        return store.bytes(integer: word)
    }

    func fallback(forKey key: Key) -> [UInt8]? {
        store.lifetimes.fallback == 0 ? nil : sight(key, countsFallback: true).bytes
    }

    func peekValue(forKey key: Key) -> [UInt8]? { sight(key).bytes }

    func contains(_ key: Key) -> Bool {
        guard let word = Self.integerWord(of: key) else {
            return store.contains(word: hashWord(of: key), matching: matching(key))
        }
        return store.contains(word: word, matching: WordMatching())
    }

    func valueWithDeadline(forKey key: Key) -> (value: [UInt8], deadline: EntryDeadline, now: Int64)? {
        guard let bytes = value(forKey: key) else { return nil }
        // One that has come since has a later deadline, which is not stale yet.
        return (bytes, deadline(forKey: key) ?? .never, store.lifetimes.clock.nanoseconds())
    }

    func deadline(forKey key: Key) -> EntryDeadline? {
        guard let word = Self.integerWord(of: key) else {
            return store.deadline(word: hashWord(of: key), matching: matching(key))
        }
        return store.deadline(word: word, matching: WordMatching())
    }

    func noteFailedRefresh(of key: Key, deadline: Int64) {
        if let word = Self.integerWord(of: key) {
            store.noteFailedRefresh(word: word, matching: WordMatching(), deadline: deadline)
        } else {
            store.noteFailedRefresh(word: hashWord(of: key), matching: matching(key), deadline: deadline)
        }
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

extension PurgeableStore {
    @usableFromInline
    func bytes(integer word: UInt64) -> [UInt8]? { bytes(word: word, matching: WordMatching()) }

    @usableFromInline
    func set(_ bytes: UnsafeRawBufferPointer, integer word: UInt64, expiresAfter lifetime: Duration?) -> Bool {
        set(bytes, word: word, matching: WordMatching(), expiresAfter: lifetime) == .stored
    }
}
