//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How an operation tells its key from the others in the index, without user code under a lock.
protocol KeyMatching {
    /// Begins another look at the entries; called without a lock.
    mutating func beginRound()
    /// Whether the entry in `slot` has the key, if that is known; called under the shard's lock.
    mutating func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict
    /// Finds out about the entries of which that was not known; called without a lock.
    mutating func decide()
    /// Stores the key beside a new entry; called under the shard's lock.
    func store(shard: Int, slot: Int)
    /// Bytes of ordinary memory that the key takes, as far as its type tells. Called under the shard's lock.
    var keyBytes: Int { get }
}

/// Integer keys: the entry's word is the key.
struct WordMatching: KeyMatching {
    func beginRound() {}
    @inline(__always)
    func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict { .equal }
    func decide() {}
    func store(shard: Int, slot: Int) {}
    var keyBytes: Int { 0 }
}

/// All other keys: the entry's word is a 64-bit hash, equality is the key's own `==`.
///
/// Keys that are not harmless (``KeyHash/isHarmless(_:)``) are compared outside the lock, see ``KeyVerdicts``. An entry
/// is identified by its location. That cannot have come to be the same again by chance: the operation is inside the
/// log's gate, and a location returns only after its segment has been refilled, which the gate prevents.
struct KeyValueMatching<Key: Hashable>: KeyMatching {
    // What every candidate touches comes first, where it lies for every type of key: this code is not specialised.
    private var verdicts = KeyVerdicts()
    private let comparesUnderLock: Bool
    private let slots: KeySlots<Key>
    private let key: Key
    /// The keys of the entries that are yet to be compared.
    private var keys: [Key] = []

    init(_ key: Key, in slots: KeySlots<Key>) {
        self.key = key
        self.slots = slots
        comparesUnderLock = KeyHash.isHarmless(key)
    }

    mutating func beginRound() {
        keys = []
        verdicts.beginRound()
    }

    mutating func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict {
        if comparesUnderLock {
            return KeyHash.isEqual(slots.key(shard: shard, slot: slot), to: key) ? .equal : .different
        }
        let verdict = verdicts.verdict(of: location.unreferenced.word)
        if verdict == .unknown { keys.append(slots.key(shard: shard, slot: slot)) }
        return verdict
    }

    mutating func decide() {
        for candidate in keys {
            let isEqual = candidate == key
            verdicts.decideNext(isEqual)
            if isEqual { break }
        }
        verdicts.endRound()
    }

    func store(shard: Int, slot: Int) { slots.put(key, shard: shard, slot: slot) }

    var keyBytes: Int {
        let text = Key.self == String.self ? unsafeBitCast(key, to: String.self).utf8.count : 0
        return MemoryLayout<Key>.stride + text
    }
}
