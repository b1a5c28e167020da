//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// How an operation tells its key from the others in the index, without user code under a lock.
protocol KeyMatching {
    /// Whether the entry in `slot` has the key, if that is known; called under the shard's lock.
    mutating func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict
    /// Finds out what ``verdict(shard:slot:location:)`` did not know; called without a lock.
    mutating func decide()
    /// Stores the key beside a new entry; called under the shard's lock.
    func store(shard: Int, slot: Int)
}

enum KeyVerdict { case equal, different, unknown }

/// Integer keys: the entry's word is the key.
struct WordMatching: KeyMatching {
    @inline(__always)
    func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict { .equal }
    func decide() {}
    func store(shard: Int, slot: Int) {}
}

/// All other keys: the entry's word is a 64-bit hash, equality is the key's own `==`.
///
/// In two phases: under the lock a candidate with the same hash is copied out, after unlocking it is compared, and
/// under the lock again the verdict holds if slot and location are the same. They cannot have come to be the same
/// again by chance: the operation is inside the log's gate, and a location returns only after its segment has been
/// refilled, which the gate prevents.
///
/// Candidates come in the order of the table, the same in each round but for what others have changed meanwhile. So the
/// next verdict is looked for from the last one on, and many keys of one hash cost one comparison each.
struct KeyValueMatching<Key: Hashable>: KeyMatching {
    private struct Candidate {
        let slot: Int
        let location: UInt64
        let key: Key
        var isEqual: Bool?
    }

    private let key: Key
    private let slots: KeySlots<Key>
    private let comparesUnderLock: Bool
    private var candidates: [Candidate] = []
    /// Where the next candidate is looked for.
    private var next = 0
    /// How many candidates have verdicts: those in front.
    private var decided = 0

    init(_ key: Key, in slots: KeySlots<Key>) {
        self.key = key
        self.slots = slots
        // The standard library's own values: comparing them runs nobody else's code.
        comparesUnderLock =
            Key.self == String.self || Key.self == Int128.self || Key.self == UInt128.self || Key.self == Double.self
    }

    mutating func verdict(shard: Int, slot: Int, location: LogLocation) -> KeyVerdict {
        if comparesUnderLock { return slots.key(shard: shard, slot: slot) == key ? .equal : .different }
        let place = location.unreferenced.word
        for step in 0..<decided {
            let index = next + step < decided ? next + step : next + step - decided
            guard candidates[index].slot == slot, candidates[index].location == place else { continue }
            next = index + 1 == decided ? 0 : index + 1
            return candidates[index].isEqual == true ? .equal : .different
        }
        candidates.append(
            Candidate(slot: slot, location: place, key: slots.key(shard: shard, slot: slot), isEqual: nil)
        )
        return .unknown
    }

    mutating func decide() {
        for index in decided..<candidates.count { candidates[index].isEqual = candidates[index].key == key }
        decided = candidates.count
        next = 0
    }

    func store(shard: Int, slot: Int) { slots.put(key, shard: shard, slot: slot) }
}
