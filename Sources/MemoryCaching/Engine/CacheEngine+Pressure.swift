//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

extension CacheEngine: ReclaimableCache {
    /// Made with the first shard; nil where the cache takes no part, or is empty.
    var account: PressureAccount? {
        let word = directory.load(ordering: .acquiring)
        return word == 0 ? nil : Self.shard(0, of: word).pointee.policy.pointee.account
    }

    /// What one byte of an entry without a cost is of its price: such entries are ranked by the piece.
    @usableFromInline var bytesPerCostlessEntry: Int { max(1, account?.bytesPerEntry ?? 1) }

    @usableFromInline
    package var marginalPrice: Double {
        var price = Double.infinity
        let isWhole = forEachFreeShard { shard in
            price = min(price, shard.pointee.leastHeight(for: .costLimit))
            price = min(price, shard.pointee.leastCostlessHeight() / Double(bytesPerCostlessEntry))
        }
        // A shard in use is not waited for: with 160 threads that wanted room in 40 caches, 156 stood waiting to ask
        // for prices. What was known before serves, and 0, which has the cache asked, where nothing was: a cache that
        // was empty then may hold much now.
        if !isWhole { return min(price, Double(Float(bitPattern: knownPrice.load(ordering: .relaxed)))) }
        let known = Float(price)
        knownPrice.store(known.isFinite ? known.bitPattern : 0, ordering: .relaxed)
        return price
    }

    @usableFromInline
    package var reclaimableBytes: Int {
        var costless = 0
        forEachShard { shard in
            let storage = shard.pointee.storage
            guard let costs = storage.costs else {
                costless += storage.count
                return
            }
            storage.forEachSlot { if costs[Int($0)] == 0 { costless += 1 } }
        }
        let (estimate, overflow) = costless.multipliedReportingOverflow(by: bytesPerCostlessEntry)
        let (sum, carried) = estimate.addingReportingOverflow(heldCost)
        return overflow || carried ? .max : sum
    }

    @usableFromInline
    package var holdings: (entries: Int, costs: Int) {
        let costs = heldCost
        return costs > 0 ? (0, costs) : (entryCount, 0)
    }

    @usableFromInline
    package func discardUnusedContent() -> Int {
        guard let hooks else { return 0 }
        var freed = 0
        forEachDiscardable { entry in
            hooks.discardIfPossible(entry.value)
            guard hooks.isDiscarded(entry.value) else { return }
            freed += remove(entry.hash, entry.slot, entry.generation, holding: entry.value, cause: .discarded)
        }
        return freed
    }

    @usableFromInline
    package func evict(bytes: Int, below price: Double) -> Int {
        removeExpired()
        return evictor(self, bytes, price)
    }

    /// Evicts entries, least worth first, until about `bytes` are free or the next one's price is above `price`;
    /// returns about how many bytes that freed.
    @inlinable
    @inline(never)
    func evictLeast(_ bytes: Int, below price: Double) -> Int {
        let bytesPerCostlessEntry = bytesPerCostlessEntry
        var freed = 0
        publishAll()
        while freed < bytes {
            var departures = EntryDepartures<Key, Value>()
            defer { finish(departures) }
            for _ in 0..<16 where freed < bytes {
                let run = evictRun(bytes - freed, below: price, bytesPerCostlessEntry, into: &departures)
                if run == 0 { return freed }
                freed = freed.addingReportingOverflow(run).partialValue
            }
        }
        return freed
    }

    @usableFromInline
    package func revokeInsertionCredit() -> Int {
        var bytes = 0
        forEachShard { bytes += $0.pointee.credit.revoke() }
        return bytes
    }

    @usableFromInline
    package func raisePrice(to price: Double) {
        let word = directory.load(ordering: .acquiring)
        guard word != 0, price.isFinite, price > 0 else { return }
        // Where all entries are ranked by the piece, so is inflation.
        let height = heldCost == 0 ? price * Double(bytesPerCostlessEntry) : price
        Self.shard(0, of: word).pointee.policy.pointee.raiseInflation(to: height)
        forEachShard { $0.pointee.raiseInflation(to: height) }
    }
}
