//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension CacheEngine {
    /// The value for `key` with the moment at which its lifetime is over at the latest, and the present one. Counts as
    /// a use, like ``value(forKey:)``, and costs as much.
    @usableFromInline
    func valueWithDeadline(forKey key: Key) -> (value: Value, last: Int64, now: Int64)? {
        let now = clock.nanoseconds()
        let hash = KeyHash.hash(key, seed: seed)
        let (shard, slot) = locate(key, hash)
        guard slot != 0 else {
            shard.pointee.counters.misses &+= 1
            unlock(shard)
            return nil
        }
        let entry = shard.pointee.storage.entries + Int(slot)
        let info = entry.pointee.meta.info
        let deadline = shard.pointee.wheel?.entryDeadline(of: slot) ?? .never
        if deadline.next <= now || info.has(EntryInfo.discardable) {
            // What is not simple goes the usual way.
            unlock(shard)
            return value(forKey: key).map { ($0, deadline.last, now) }
        }
        shard.pointee.noteUse(of: slot, info)
        if idleLifetime != .max {
            shard.pointee.wheel?.postpone(slot, to: EntryDeadline.moment(idleLifetime, after: now))
        }
        shard.pointee.counters.hits &+= 1
        let value = entry.pointee.value
        unlock(shard)
        return (value, deadline.last, now)
    }
}
