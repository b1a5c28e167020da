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
/// An entry is identified by its location. That cannot have come to be the same again by chance: a location returns
/// after its segment has been refilled as many times as there are generations, and the gate prevents any refilling.
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
    ///
    /// - Parameter sealed: segments that have been sealed so far. Most keys do not ask.
    @inline(__always)
    func beginRound(sealed: @autoclosure () -> Int) { outside?.beginRound(sealed: sealed()) }

    /// Says that the verdicts there are were found outside the gate, by a look at the entries when so many segments had
    /// been sealed.
    func noteComparison(sealed: Int) { outside?.sealedAtComparison = sealed }

    /// Whether the entry in `slot`, which has this word, has the key, if that is known; called under the shard's lock.
    @inline(__always)
    func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict {
        guard let keys, let key else { return .equal }
        if let outside { return outside.verdict(shard, slot, location) }
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
    @exclusivity(unchecked) private var verdicts = KeyVerdicts()
    /// The keys of the entries that are yet to be compared, each in memory of its own.
    @exclusivity(unchecked) private var keys: [UnsafeMutableRawPointer] = []

    /// Segments sealed when the verdicts were found that are from outside the gate; nil where none are.
    @exclusivity(unchecked) var sealedAtComparison: Int?

    init(of key: UnsafeRawPointer, in storage: KeyStorage) {
        self.key = key
        self.storage = storage
    }

    // No lock is held: the caller has it last.
    deinit { forgetKeys() }

    func beginRound(sealed: Int) {
        forgetKeys()
        if let before = sealedAtComparison, sealed &- before >= LogLocation.generationCount {
            verdicts.forget()
        }
        sealedAtComparison = nil
        verdicts.beginRound()
    }

    func verdict(_ shard: Int, _ slot: Int, _ location: LogLocation) -> KeyVerdict {
        let verdict = verdicts.verdict(of: location.unreferenced.word)
        if verdict == .unknown { keys.append(storage.copy(shard: shard, slot: slot)) }
        return verdict
    }

    func decide() {
        for candidate in keys {
            let isEqual = storage.areEqual(candidate, key)
            verdicts.decideNext(isEqual)
            if isEqual { break }
        }
        verdicts.endRound()
    }

    private func forgetKeys() {
        if keys.isEmpty { return }
        for copy in keys { storage.deallocate(copy) }
        keys = []
    }
}
