//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import CMemoryShims
public import Synchronization

// Lookups: what a hit does, and what is left where it is not as simple as most.
extension CacheEngine {
    /// The value for `key`; counts as a use of it.
    @inlinable
    @inline(always)
    package func value(forKey key: Key) -> Value? {
        let hash = KeyHash.hash(key, seed: seed)
        guard KeyHash.isHarmless(key) else {
            return valueComparingOutside(key, hash, isConstant: false) { _ in false }
        }
        if CacheEngine.readsWithoutLock, let value = valueWithoutLock(key, hash) { return value }
        guard let shard = lockFreeShard(hash) else { return valueContended(key, hash) }
        guard let slot = shard.pointee.storage.find(key, hash) else {
            shard.pointee.lookups.misses &+= 1
            // Who misses sets as a rule, and will ask for the ghost.
            shard.pointee.ghosts.prefetch(hash)
            unlockAfterLookup(shard)
            return nil
        }
        let entry = shard.pointee.storage.entries + Int(slot)
        let info = entry.pointee.meta.info
        if info.has(EntryInfo.slow) {
            beginWriting(shard)
            return finishLookup(shard, slot, key, hash)
        }
        if !info.has(EntryInfo.touched) {
            // Who sees it without the lock sees how far the shard's sequence has come.
            cms_store_release_u32(&entry.pointee.meta.info.bits, info.bits | EntryInfo.touched)
            if SampledUses.includes(hash) { shard.pointee.noteTouch(info, hash) }
        }
        shard.pointee.lookups.hits &+= 1
        let value = entry.pointee.value
        unlockAfterLookup(shard)
        return value
    }

    /// The value for a key whose shard was not to be had at once.
    @inlinable
    @inline(never)
    func valueContended(_ key: Key, _ hash: UInt64) -> Value? {
        if CacheEngine.readsWithoutLock, isLockHeld(hash) {
            admitReader()
            if waitForWriter(hash), let value = valueWithoutLock(key, hash) { return value }
        }
        let shard = lockShardContended(hash)
        beginWriting(shard)
        return finishLookup(shard, shard.pointee.storage.find(key, hash) ?? 0, key, hash)
    }

    /// The value for a key that never changes and is no integer, whose `hashValue` is known already; counts as a use
    /// of it.
    ///
    /// - Parameter isSurelyEqual: whether the stored key at an address is known to be equal without foreign code. Runs
    ///   under the lock, where it may read and nothing else; `false` says nothing.
    @inlinable
    @inline(__always)
    package func value(
        forKey key: Key,
        hashValue: Int,
        isSurelyEqual: (_ address: UnsafeRawPointer) -> Bool
    ) -> Value? {
        let hash = KeyHash<Key>.hash(ofHashValue: hashValue, seed: seed)
        return valueComparingOutside(key, hash, isConstant: true, isSurelyEqual)
    }

    /// A lookup whose keys are compared by foreign code: the very key that was stored is known without it, and so are
    /// those that are surely equal; of others the one candidate there usually is comes out with its value under one
    /// lock, to be compared outside.
    @inlinable
    @inline(always)
    func valueComparingOutside(
        _ key: Key,
        _ hash: UInt64,
        isConstant: Bool,
        _ isSurelyEqual: (_ address: UnsafeRawPointer) -> Bool
    ) -> Value? {
        let shard = lockShard(hash)
        let found = shard.pointee.storage.findWithoutComparing(key, hash, isConstant: isConstant, isSurelyEqual)
        if found.slot == 0 { return valueComparing(shard, found.candidate, found.candidateCount, key, hash) }
        let entry = shard.pointee.storage.entries + Int(found.slot)
        let info = entry.pointee.meta.info
        if info.has(EntryInfo.slow & ~EntryInfo.exact) { return finishLookup(shard, found.slot, key, hash) }
        // Before a move in the order of use, for whose stores the counting of a reference would wait: 1 ns of 33 where
        // 10,000 numbers are asked for in turn.
        let value = entry.pointee.value
        shard.pointee.noteUse(of: found.slot, info, hash)
        shard.pointee.lookups.hits &+= 1
        unlock(shard)
        return value
    }

    /// The rest of a lookup that has not found the very key in `locked`, whose lock it releases, but `count` entries of
    /// the same hash, `candidate` among them.
    @inlinable
    @inline(never)
    func valueComparing(
        _ locked: ShardPointer,
        _ candidate: UInt32,
        _ count: Int,
        _ key: Key,
        _ hash: UInt64
    ) -> Value? {
        var shard = locked
        if count == 1 {
            let entry = shard.pointee.storage.entries + Int(candidate)
            let info = entry.pointee.meta.info
            if !info.has(EntryInfo.slow & ~EntryInfo.exact) {
                shard.pointee.noteUse(of: candidate, info, hash)
                shard.pointee.lookups.hits &+= 1
                if let value = unlockAndCompare(shard, entry, key) { return value }
                shard = lockShard(hash)
                shard.pointee.lookups.hits &-= 1
            }
        }
        if count == 0 {
            shard.pointee.lookups.misses &+= 1
            unlock(shard)
            return nil
        }
        unlock(shard)
        let slot: UInt32
        (shard, slot) = locate(key, hash)
        return finishLookup(shard, slot, key, hash)
    }

    /// Takes the entry out of `shard`, which it unlocks, and compares its key: the value, or nil where they differ. A
    /// function of its own, so that what it took has gone before anybody locks again.
    @inlinable
    @inline(never)
    func unlockAndCompare(_ shard: ShardPointer, _ entry: UnsafeMutablePointer<Entry<Key, Value>>, _ key: Key) -> Value?
    {
        let (found, value) = (entry.pointee.key, entry.pointee.value)
        unlock(shard)
        return found == key ? value : nil
    }

    /// The rest of a lookup that has found `slot` in `shard`, whose lock it releases: order of use, lifetime and
    /// discarded content.
    @inlinable
    @inline(never)
    func finishLookup(_ locked: ShardPointer, _ found: UInt32, _ key: Key, _ hash: UInt64) -> Value? {
        var (shard, slot) = (locked, found)
        if slot != 0, shard.pointee.storage.view[slot].pointee.info.has(EntryInfo.expires) {
            unlock(shard)
            let now = lifetimes.clock.nanoseconds()
            (shard, slot) = locate(key, hash)
            if slot != 0, let deadline = shard.pointee.wheel?.deadline(of: slot), deadline <= now {
                shard.pointee.lookups.misses &+= 1
                if deadline <= lifetimes.fallbackEnd(at: now) {
                    removeLocked(shard, slot, cause: .expired)
                } else {
                    unlock(shard)
                }
                return nil
            }
            if slot != 0 { lifetimes.noteUse(of: slot, in: shard.pointee.wheel, at: now) }
        }
        if slot == 0 {
            shard.pointee.lookups.misses &+= 1
            unlock(shard)
            return nil
        }
        let entry = shard.pointee.storage.entries + Int(slot)
        let info = entry.pointee.meta.info
        shard.pointee.noteUse(of: slot, info, hash)
        let value = entry.pointee.value
        shard.pointee.lookups.hits &+= 1
        guard info.has(EntryInfo.discardable), evictsDiscarded.load(ordering: .relaxed), let hooks else {
            unlock(shard)
            return value
        }
        let generation = shard.pointee.storage.generation(of: slot)
        unlock(shard)
        guard hooks.isDiscarded(value) else { return value }
        removeDiscarded(hash, slot, generation)
        shard = lockShard(hash)
        shard.pointee.lookups.hits &-= 1
        shard.pointee.lookups.misses &+= 1
        unlock(shard)
        return nil
    }

    /// Whether there is a value for `key`; no use of it, and no lookup in the statistics.
    @inlinable
    package func contains(_ key: Key) -> Bool {
        let now = lifetimes.now
        let (shard, slot) = locateForReading(key, KeyHash.hash(key, seed: seed))
        let deadline = shard.pointee.wheel?.deadline(of: slot) ?? .max
        let isAlive = slot != 0 && (deadline > now || deadline == .max)
        unlockAfterLookup(shard)
        return isAlive
    }
}
