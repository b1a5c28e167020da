//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The key of one operation: what its entry is placed by, and what tells that from the others in the index, without
/// user code under a lock.
///
/// An integer is its own word. The word of any other key is a 64-bit hash, and equality is the key's own `==`: the
/// storage of the keys knows their type, nobody else does. What is compiled for any type of key asks the runtime for
/// types at every step: lending 64 bytes by a text took 4,450 instructions that way, and takes 1,150 this way.
///
/// Keys that are not harmless (``KeyHash/isHarmless(_:)``) are compared outside the lock, see ``KeyVerdicts``, and
/// before the operation enters the log's gate: an `==` that waits would keep every segment from being refilled. What is
/// new by then is compared inside.
///
/// An entry is identified by the bits of its key, which it keeps whatever value it gets and wherever that lies. As long
/// as a copy of the key is held, no other key has the same bits.
///
/// Made by ``PurgeableStore/withMatching(_:_:)``, whose caller's key and cache it must not outlive.
struct KeyMatching {
    /// What the entry is placed by.
    let word: UInt64
    // Not counted: every operation of every thread would write the same counter.
    private unowned(unsafe) let keys: KeyStorage?
    private let key: UnsafeRawPointer?
    /// Nil where keys are compared under the lock.
    private let outside: OutsideComparison?

    /// An integer.
    @inline(__always)
    init(integer word: UInt64) {
        self.word = word
        keys = nil
        key = nil
        outside = nil
    }

    /// The key at an address, whose hash is `word`.
    init(_ key: UnsafeRawPointer, in keys: KeyStorage, word: UInt64, isHarmless: Bool) {
        self.word = word
        self.keys = keys
        self.key = key
        outside = isHarmless ? nil : OutsideComparison(of: key, in: keys)
    }

    /// Begins another look at the entries; called without a lock.
    @inline(__always)
    func beginRound() { outside?.verdicts.beginRound() }

    /// Whether an entry that was found in this round might be the key's, though it counts as another's, see
    /// ``KeyVerdicts``.
    var hasGivenUp: Bool { outside?.verdicts.hasGivenUp ?? false }

    /// Whether the entry in `slot`, which has this word, has the key, if that is known; called under the shard's lock.
    @inline(__always)
    func verdict(shard: Int, slot: Int) -> KeyVerdict {
        guard let keys, let key else { return .equal }
        if let outside { return outside.verdict(shard, slot) }
        return keys.isEqual(shard: shard, slot: slot, toHarmless: key) ? .equal : .different
    }

    /// Finds out about the entries of which that was not known; called without a lock.
    func decide() { outside?.decide() }

    /// Stores the key beside a new entry; called under the shard's lock.
    func store(shard: Int, slot: Int) { if let keys, let key { keys.put(key, shard: shard, slot: slot) } }

    /// Bytes of ordinary memory that the key takes, as far as its type tells. Called under the shard's lock.
    var keyBytes: Int { if let keys, let key { keys.byteCount(of: key) } else { 0 } }
}

/// What one operation knows of keys that it compares outside the lock.
private final class OutsideComparison {
    private unowned(unsafe) let storage: KeyStorage
    private let key: UnsafeRawPointer
    // Only the operation's thread knows this object, and no key can reach it. To have each access checked took 1,200
    // instructions of 5,000.
    @exclusivity(unchecked) var verdicts = KeyVerdicts<KeyCopy>()

    init(of key: UnsafeRawPointer, in storage: KeyStorage) {
        self.key = key
        self.storage = storage
    }

    func verdict(_ shard: Int, _ slot: Int) -> KeyVerdict {
        verdicts.verdict(
            where: { storage.hasBits(of: $0.memory, shard: shard, slot: slot) },
            identity: { KeyCopy(storage, shard, slot) }
        )
    }

    func decide() { verdicts.decide { storage.areEqual($0.memory, key) } }
}

/// A copy of the key in a slot, and the bits that it has there.
private final class KeyCopy {
    private unowned(unsafe) let storage: KeyStorage
    let memory: UnsafeMutableRawPointer

    init(_ storage: KeyStorage, _ shard: Int, _ slot: Int) {
        self.storage = storage
        memory = storage.copy(shard: shard, slot: slot)
    }

    // No lock is held: who looks at entries under one forgets none there.
    deinit { storage.deallocate(memory) }
}
