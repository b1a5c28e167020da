//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// How an operation tells its key from the others in the index, without user code under a lock.
protocol KeyMatching {
    /// Whether the entry in `slot` has the key, if that is known; called under the shard's lock.
    mutating func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict
    /// Begins another look at the entries; called under the shard's lock.
    mutating func beginRound()
    /// Copies the keys of entries that ``verdict(shard:slot:location:)`` did not know; called under the shard's lock.
    mutating func copyUnknown(shard: Int)
    /// Finds out about the entries whose keys were copied; called without a lock.
    mutating func decide()
    /// Stores the key beside a new entry; called under the shard's lock.
    func store(shard: Int, slot: Int)
}

enum KeyVerdict { case equal, different, unknown }

/// Integer keys: the entry's word is the key.
struct WordMatching: KeyMatching {
    @inline(__always)
    func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict { .equal }
    func beginRound() {}
    func copyUnknown(shard: Int) {}
    func decide() {}
    func store(shard: Int, slot: Int) {}
}

/// All other keys: the entry's word is a 64-bit hash, equality is the key's own `==`.
///
/// Keys that are not harmless (``KeyHash/isHarmless(_:)``) in two phases: under the lock a candidate with the same hash
/// is copied out, after unlocking it is compared, and under the lock again the verdict holds if slot and location are
/// the same. They cannot have come to be the same again by chance: the operation is inside the log's gate, and a
/// location returns only after its segment has been refilled, which the gate prevents.
///
/// Candidates come in the order of the table, the same in each round but for what others have changed meanwhile. So the
/// next verdict is looked for from the last one on, and many keys of one hash cost one comparison each.
///
/// After ``KeyHash/comparisonRounds`` rounds in which something was compared, what has no verdict counts as different:
/// at worst there are two entries of equal keys then, of which one is found, and the other one when that has gone.
struct KeyValueMatching<Key: Hashable>: KeyMatching {
    // What every candidate touches comes first, where it lies for every type of key: this code is not specialised.
    private var candidates = KeyCandidates()
    private let comparesUnderLock: Bool
    private let slots: KeySlots<Key>
    private let key: Key
    /// The keys of the candidates that are yet to be compared.
    private var keys: [Key] = []

    init(_ key: Key, in slots: KeySlots<Key>) {
        self.key = key
        self.slots = slots
        comparesUnderLock = KeyHash.isHarmless(key)
    }

    mutating func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict {
        if comparesUnderLock {
            return KeyHash.isEqual(slots.key(shard: shard, slot: slot), to: key) ? .equal : .different
        }
        return candidates.verdict(slot: slot, location: location.unreferenced.word)
    }

    mutating func beginRound() { candidates.beginRound() }

    mutating func copyUnknown(shard: Int) { slots.copy(candidates.undecidedSlots, of: shard, to: &keys) }

    mutating func decide() {
        let compared = keys
        keys = []
        for candidate in compared { candidates.decideNext(candidate == key) }
        candidates.endRound()
    }

    func store(shard: Int, slot: Int) { slots.put(key, shard: shard, slot: slot) }
}

/// The entries of one hash that an operation has met, in the order of the table, and which of them has its key.
private struct KeyCandidates {
    private struct Candidate {
        let slot: Int
        let location: UInt64
        var isEqual = false
    }

    private var candidates: [Candidate] = []
    /// How many have verdicts: those in front.
    private var decided = 0
    /// Where the next one is looked for.
    private var next = 0
    /// Rounds in which something was compared.
    private var rounds = 0

    mutating func verdict(slot: Int, location: UInt64) -> KeyVerdict {
        for step in 0..<decided {
            let index = next + step < decided ? next + step : next + step - decided
            guard candidates[index].slot == slot, candidates[index].location == location else { continue }
            next = index + 1 == decided ? 0 : index + 1
            return candidates[index].isEqual ? .equal : .different
        }
        guard rounds <= KeyHash<Int>.comparisonRounds else { return .different }
        candidates.append(Candidate(slot: slot, location: location))
        return .unknown
    }

    /// Begins at the front again, and forgets those that have no verdicts: their slots may be empty by now.
    mutating func beginRound() {
        candidates.removeLast(candidates.count - decided)
        next = 0
    }

    /// The slots of those that have no verdicts.
    var undecidedSlots: [Int] { candidates[decided...].map(\.slot) }

    /// Takes down the verdict about the first candidate that has none.
    mutating func decideNext(_ isEqual: Bool) {
        candidates[decided].isEqual = isEqual
        decided += 1
    }

    mutating func endRound() { rounds += 1 }
}
