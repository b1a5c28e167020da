//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

// From a key to its shard, locked, and its slot.
extension CacheEngine {
    /// The shard that `hash` leads to, locked for whatever is to be done with it. Made if there is none yet.
    @inlinable
    @inline(always)
    func lockShard(_ hash: UInt64) -> ShardPointer {
        let shard = lockShardForReading(hash)
        beginWriting(shard)
        return shard
    }

    /// The shard that `hash` leads to, locked for whoever writes nothing that is read without the lock. Unlocked by
    /// ``unlockAfterLookup(_:)``, or written to after ``beginWriting(_:)``: the later, the fewer have to wait.
    @inlinable
    @inline(always)
    func lockShardForReading(_ hash: UInt64) -> ShardPointer {
        guard let shard = lockFreeShard(hash) else { return lockShardContended(hash) }
        return shard
    }

    /// What ``lockShardForReading(_:)`` returns; nil where the shard is in use, does not have the entries or is yet to
    /// be made.
    ///
    /// Names the class, because Swift 6.3 crashes where it inlines `Self` of a class into a function without
    /// parameters.
    @inlinable
    @inline(always)
    func lockFreeShard(_ hash: UInt64) -> ShardPointer? {
        let word = directory.load(ordering: .acquiring)
        guard let first = UnsafeMutableRawPointer(bitPattern: word & ~63) else { return nil }
        let index = CacheEngine.shardIndex(hash, of: word)
        TablePlace(index, before: first).prefetch { capacity in
            Int(bitPattern: TableLayout(size: capacity, isSpread: false).home(hash))
        }
        let shard = CacheEngine.shard(index, from: first)
        guard ShardLock(guarding: UnsafeMutableRawPointer(shard)).tryLock() else { return nil }
        if !shard.pointee.isElsewhere { return shard }
        unlockAfterLookup(shard)
        return nil
    }

    /// What ``lockShardForReading(_:)`` does where the shard is not to be had at once. A function of its own, so that a
    /// hit keeps no registers for another round.
    @inlinable
    @inline(never)
    func lockShardContended(_ hash: UInt64) -> ShardPointer {
        while true {
            let word = directory.load(ordering: .acquiring)
            if word == 0 {
                makeFirstShard()
                continue
            }
            let shard = Self.shard(Self.shardIndex(hash, of: word), of: word)
            ShardLock(guarding: UnsafeMutableRawPointer(shard)).lock()
            if !shard.pointee.isElsewhere { return shard }
            unlockAfterLookup(shard)
            moveIn(shard)
        }
    }

    /// The number of the shard that `hash` leads to by the directory's `word`.
    @inlinable
    @inline(always)
    static func shardIndex(_ hash: UInt64, of word: UInt) -> Int {
        Int(bitPattern: UInt(truncatingIfNeeded: hash &>> 57) & ((1 &<< (word & 63)) &- 1))
    }

    /// Locks `shard` for whatever is to be done with it.
    @inlinable
    @inline(always)
    func lock(_ shard: ShardPointer) {
        ShardLock(guarding: UnsafeMutableRawPointer(shard)).lock()
        beginWriting(shard)
    }

    /// The same if it is free.
    @inlinable
    @inline(always)
    func tryLock(_ shard: ShardPointer) -> Bool {
        guard ShardLock(guarding: UnsafeMutableRawPointer(shard)).tryLock() else { return false }
        beginWriting(shard)
        return true
    }

    /// Unlocks what ``lock(_:)``, ``tryLock(_:)`` and all that call these have locked.
    @inlinable
    @inline(always)
    func unlock(_ shard: ShardPointer) {
        endWriting(shard)
        ShardLock(guarding: UnsafeMutableRawPointer(shard)).unlock()
    }

    @inlinable
    @inline(always)
    func unlockAfterLookup(_ shard: ShardPointer) { ShardLock(guarding: UnsafeMutableRawPointer(shard)).unlock() }

    /// What stands for a slot where a search for a key that is to be set has given up, see ``KeyVerdicts``.
    @inlinable
    @inline(always)
    static var givenUp: UInt32 { .max }

    /// The shard that `hash` leads to, locked, and the slot of `key` in it, or 0. Where a key that is to be set is not
    /// there, what its insertion needs is asked for; where that is not known, the slot is ``givenUp``.
    @inlinable
    @inline(always)
    func locate(_ key: Key, _ hash: UInt64, toSet: Bool = false) -> (ShardPointer, UInt32) {
        let (shard, slot) = locateForReading(key, hash, toSet: toSet)
        if toSet, slot == 0 {
            prefetchForExchange(hash, in: shard)
            beginInserting(shard)
        } else {
            beginWriting(shard)
        }
        return (shard, slot)
    }

    /// The same, locked as ``lockShardForReading(_:)`` does it.
    @inlinable
    @inline(always)
    func locateForReading(_ key: Key, _ hash: UInt64, toSet: Bool = false) -> (ShardPointer, UInt32) {
        guard KeyHash.isHarmless(key) else { return locateComparingOutside(key, hash, toSet) }
        let shard = lockShardForReading(hash)
        return (shard, shard.pointee.storage.find(key, hash) ?? 0)
    }

    /// Finds `key` by an `==` that may do anything, see ``KeyVerdicts``. An entry is identified by its generation, which
    /// it keeps whatever value it gets.
    @inlinable
    @inline(never)
    func locateComparingOutside(_ key: Key, _ hash: UInt64, _ toSet: Bool) -> (ShardPointer, UInt32) {
        var verdicts = KeyVerdicts<UInt64>()
        while true {
            let shard = lockShardForReading(hash)
            let identical = shard.pointee.storage.findWithoutComparing(key, hash, isConstant: false) { _ in false }.slot
            if identical != 0 { return (shard, identical) }
            verdicts.beginRound()
            var match: UInt32 = 0
            var first: Key?
            var rest: [Key] = []
            shard.pointee.storage.forEachCandidate(hash) { slot in
                switch verdicts.verdict(of: UInt64(shard.pointee.storage.generation(of: slot))) {
                case .equal: match = slot
                case .different: break
                case .unknown:
                    let candidate = shard.pointee.storage.entries[Int(slot)].key
                    if first == nil { first = candidate } else { rest.append(candidate) }
                }
                return match == 0
            }
            // What was copied is still in the table: to let go of it here runs no code of the key's.
            guard match == 0, let first else {
                return (shard, toSet && match == 0 && verdicts.hasGivenUp ? Self.givenUp : match)
            }
            unlockAfterLookup(shard)
            let isFirst = first == key
            verdicts.decideNext(isFirst)
            if !isFirst {
                for candidate in rest {
                    let isEqual = candidate == key
                    verdicts.decideNext(isEqual)
                    if isEqual { break }
                }
            }
            verdicts.endRound()
        }
    }
}
