//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension CacheEngine {
    /// The value for `key` with the end of its lifetime, and the present moment. Counts as a use, like
    /// ``value(forKey:)``, and costs as much.
    @usableFromInline
    func valueWithDeadline(forKey key: Key) -> (value: Value, deadline: EntryDeadline, now: Int64)? {
        let now = lifetimes.clock.nanoseconds()
        let hash = KeyHash.hash(key, seed: seed)
        let (shard, slot) = locate(key, hash)
        guard slot != 0 else {
            shard.pointee.lookups.misses &+= 1
            unlock(shard)
            return nil
        }
        let entry = shard.pointee.storage.entries + Int(slot)
        let info = entry.pointee.meta.info
        let deadline = shard.pointee.wheel?.entryDeadline(of: slot) ?? .never
        if deadline.next <= now || info.has(EntryInfo.discardable) {
            // What is not simple goes the usual way.
            unlock(shard)
            return value(forKey: key).map { ($0, deadline, now) }
        }
        shard.pointee.noteUse(of: slot, info, hash)
        lifetimes.noteUse(of: slot, in: shard.pointee.wheel, at: now)
        shard.pointee.lookups.hits &+= 1
        let value = entry.pointee.value
        unlock(shard)
        return (value, deadline, now)
    }

    /// The value for `key`, also an expired one that is kept as a fallback; nil where none are kept. No use of it.
    func fallback(forKey key: Key) -> Value? {
        lifetimes.fallback == 0 ? nil : sight(key, copyingBitsTo: nil, countsFallback: true).value
    }

    /// Stores what a load has made; see ``insert(_:forKey:cost:recomputeCost:expiresAfter:if:)``.
    func insert(
        _ value: Value,
        forKey key: Key,
        cost: Int,
        recomputeCost: Double?,
        expiresAfter lifetime: Duration?,
        ticket: LoadTicket
    ) -> InsertionOutcome {
        insert(
            value,
            forKey: key,
            cost: cost,
            recomputeCost: recomputeCost,
            expiresAfter: lifetime,
            if: .ticket(ticket)
        )
    }

    /// The end of the lifetime of the entry for `key`; nil if there is no entry. No use of it.
    func deadline(forKey key: Key) -> EntryDeadline? {
        let (shard, slot) = locate(key, KeyHash.hash(key, seed: seed))
        defer { unlock(shard) }
        return slot == 0 ? nil : shard.pointee.wheel?.entryDeadline(of: slot) ?? .never
    }

    /// Notes that a refresh of the entry for `key` has failed, if that still has this last deadline.
    func noteFailedRefresh(of key: Key, deadline: Int64) {
        let (shard, slot) = locate(key, KeyHash.hash(key, seed: seed))
        defer { unlock(shard) }
        guard slot != 0, let wheel = shard.pointee.wheel, wheel.entryDeadline(of: slot).last == deadline else { return }
        wheel.setRefreshTried(true, of: slot)
    }
}
