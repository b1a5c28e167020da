//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

extension CacheEngine {
    /// Entries at most; 0 or less is no limit. Setting it evicts at once.
    package var countLimit: Int {
        get { limits.count.load(ordering: .relaxed) }
        set { change { limits.count.store(newValue, ordering: .sequentiallyConsistent) } }
    }

    /// Sum of costs at most; 0 or less is no limit. Setting it evicts at once.
    package var totalCostLimit: Int {
        get { limits.cost.load(ordering: .relaxed) }
        set { change { limits.cost.store(newValue, ordering: .sequentiallyConsistent) } }
    }

    /// Stores a limit while no large insertion is collecting room for the old one, waits for the draws within the old
    /// one that are under way, and evicts until both limits hold. So what is handed out is within them from then on, and
    /// not only what is held: a draw that exceeds a limit gives its room back, but takes it for a moment.
    private func change(_ store: () -> Void) {
        let lock = room.map { ShardLock(guarding: $0) }
        lock?.lock()
        store()
        lock?.unlock()
        drainStocks()
        removeDiscarded()
        func exceedsCount() -> Bool { room?.pointee.exceeds(count: countLimit) ?? false }
        func exceedsCost() -> Bool { room?.pointee.exceeds(cost: totalCostLimit) ?? false }
        if exceedsCount() || exceedsCost() { removeExpired() }
        while exceedsCount() || exceedsCost() {
            drainStocks()
            evict(while: exceedsCount, cause: .countLimit)
            evict(while: exceedsCost, cause: .costLimit)
        }
    }

    /// Evicts, least worth first, until `limit` entries are left.
    package func trim(toCount limit: Int) {
        removeExpired()
        removeDiscarded()
        evict(while: { self.entryCount > max(0, limit) }, cause: .countLimit)
    }

    /// Evicts, least worth first, until the costs add up to `limit` at most; entries of cost 0 stay.
    package func trim(toCost limit: Int) {
        removeExpired()
        removeDiscarded()
        drainStocks()
        evict(while: { (self.room?.pointee.totalCost ?? 0) > max(0, limit) }, cause: .costLimit)
    }

    /// Evicts while `isOver` says so. What leaves is let go of in batches, so that a large trim holds no large array.
    ///
    /// As many entries at most as there are now: an observer that puts back what leaves must not keep it going.
    private func evict(while isOver: () -> Bool, cause: RemovalCause) {
        var allowance = entryCount
        guard allowance > 0, isOver() else { return }
        publishAll()
        while allowance > 0, isOver() {
            var departures = EntryDepartures<Key, Value>()
            defer { finish(departures) }
            while departures.count < 256, allowance > 0, isOver() {
                allowance -= 1
                guard case .evicted = evictOne(cause: cause, givingBack: true, into: &departures) else { return }
            }
        }
    }
}
