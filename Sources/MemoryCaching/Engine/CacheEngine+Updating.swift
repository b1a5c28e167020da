//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// What must be so at the moment a value is stored. Asked under the lock that it is stored under.
@usableFromInline
package enum InsertionCondition {
    /// What a load shows: nothing has changed the key since the load began.
    case ticket(LoadTicket)
    /// What the failure of a load shows: nothing has changed the key since the load began, whatever is remembered of it.
    case unrevoked(LoadTicket)
    /// What an update shows: the entry has the value that the update saw, whose bits are at this address, or there is
    /// still no entry (nil).
    case unchanged(UnsafeRawPointer?)
}

// Changing an entry by code of the user's, which runs without a lock: the value is taken out, changed, and put back if
// the entry has not changed meanwhile.
extension CacheEngine {
    /// What an update begins with.
    @usableFromInline
    struct Sighting {
        /// The stored value. It keeps what it refers to from being freed: so equal bits mean the same value later.
        @usableFromInline let stored: Value?
        /// Whether the content of the stored value has been discarded.
        @usableFromInline let isDiscarded: Bool
        /// Where its bits are; nil where there is no entry that counts.
        @usableFromInline let bits: UnsafeRawPointer?

        @inlinable
        init(stored: Value?, isDiscarded: Bool = false, bits: UnsafeRawPointer?) {
            (self.stored, self.isDiscarded, self.bits) = (stored, isDiscarded, bits)
        }

        @inlinable var value: Value? { isDiscarded ? nil : stored }
        @inlinable var condition: InsertionCondition { .unchanged(bits) }
    }

    /// The value for `key`, no use of it, with its bits as they stand in the entry, which are copied to `bits`.
    ///
    /// The bits of the entry and not those of a copy: what lies between the fields of a value need not be copied with
    /// it. A value whose content has been discarded has bits, and counts as none.
    ///
    /// - Parameter countsFallback: whether an expired entry counts that is kept.
    @inlinable
    func sight(
        _ key: Key,
        copyingBitsTo bits: UnsafeMutableRawPointer?,
        countsFallback: Bool = false
    ) -> Sighting {
        var now = lifetimes.now
        if countsFallback { now = lifetimes.fallbackEnd(at: now) }
        let (shard, slot) = locateForReading(key, KeyHash.hash(key, seed: seed))
        let deadline = shard.pointee.wheel?.deadline(of: slot) ?? .max
        guard slot != 0, deadline > now || deadline == .max else {
            unlockAfterLookup(shard)
            return Sighting(stored: nil, bits: nil)
        }
        let entry = shard.pointee.storage.entries + Int(slot)
        let value = entry.pointee.value
        if let bits {
            withUnsafeBytes(of: &entry.pointee.value) {
                UnsafeMutableRawBufferPointer(start: bits, count: $0.count).copyMemory(from: $0)
            }
        }
        let mayBeGone = entry.pointee.meta.info.has(EntryInfo.discardable) && evictsDiscarded.load(ordering: .relaxed)
        unlockAfterLookup(shard)
        return Sighting(stored: value, isDiscarded: mayBeGone && hooks?.isDiscarded(value) ?? false, bits: bits)
    }

    /// The value for `key`; no use of it, and no lookup in the statistics.
    @inlinable
    package func peekValue(forKey key: Key) -> Value? { sight(key, copyingBitsTo: nil).value }

    /// Removes the entry for `key` if it is as it was seen; false if it has changed.
    @inlinable
    func removeValue(forKey key: Key, if condition: InsertionCondition) -> Bool {
        let (shard, slot) = locate(key, KeyHash.hash(key, seed: seed))
        guard slot != 0, holds(condition, shard, slot) else {
            unlock(shard)
            return false
        }
        removeLocked(shard, slot, cause: .removed)
        return true
    }

    /// Removes the entry for `key` if it is there as a fallback alone.
    @usableFromInline
    func removeFallback(forKey key: Key) {
        guard lifetimes.fallback > 0 else { return }
        let now = lifetimes.clock.nanoseconds()
        let (shard, slot) = locate(key, KeyHash.hash(key, seed: seed))
        if slot != 0, shard.pointee.wheel?.deadline(of: slot) ?? .max <= now {
            removeLocked(shard, slot, cause: .expired)
        } else {
            unlock(shard)
        }
    }

    /// Whether `condition` holds of the entry at `slot`, or of none where that is 0; the shard is locked.
    @inlinable
    func holds(_ condition: InsertionCondition, _ shard: ShardPointer, _ slot: UInt32) -> Bool {
        switch condition {
        case .ticket(let ticket):
            return ticket.admits(over: slot == 0 ? nil : shard.pointee.wheel?.entryDeadline(of: slot).last ?? .max)
        case .unrevoked(let ticket): return !ticket.isRevoked
        case .unchanged(let bits):
            guard slot != 0, let bits else { return slot == 0 && bits == nil }
            return withUnsafeBytes(of: &shard.pointee.storage.entries[Int(slot)].value) {
                $0.elementsEqual(UnsafeRawBufferPointer(start: bits, count: $0.count))
            }
        }
    }
}
