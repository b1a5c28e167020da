//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

extension CacheEngine: ReclaimableCache {
    /// Made with the first shard; nil where the cache takes no part, or is empty.
    var membership: PressureMembership? {
        let word = directory.load(ordering: .acquiring)
        return word == 0 ? nil : Self.shard(0, of: word).pointee.policy.pointee.membership
    }

    /// What one byte of an entry without a cost is of its price: such entries are ranked by the piece.
    @usableFromInline var bytesPerCostlessEntry: Int { max(1, membership?.bytesPerEntry ?? 1) }

    @usableFromInline
    package var marginalPrice: Double {
        let point = sellingPoint
        return point.height / point.bytes
    }

    @usableFromInline
    package var sellingPoint: SellingPoint {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return SellingPoint(height: .infinity) }
        // Below 0, and also −0, where it is that of an entry without a cost, which is ranked by the piece.
        let signed = Double(bitPattern: UInt64(UInt(bitPattern: specialized(self, .leastHeight))))
        let height = signed.magnitude
        let costless = Double(bytesPerCostlessEntry)
        let first = Self.shard(0, of: word)
        let cost = first.pointee.room.pointee.totalCost
        let bytes = cost > 0 ? max(1, Double(cost) / Double(max(1, entryCount))) : costless
        let worth = Double(PolicyLearner.firstStay)
        if ordering == .reuse {
            // An entry in order of use was enqueued 1 below its height.
            let aging = SellingPoint.Aging.byUse(oldest: height - 1)
            let price = height.isFinite ? worth : height
            return SellingPoint(height: price, bytes: bytes, worth: worth / bytes, aging: aging)
        }
        let inflation = first.pointee.policy.pointee.inflation
        return SellingPoint(
            height: height,
            bytes: signed.sign == .minus ? costless : 1,
            worth: worth / bytes,
            aging: .byWorth(inflation: inflation)
        )
    }

    /// The height of the next entry to go: of the cheapest in all shards that are not in use. Its sign is negative
    /// where the entry has no cost.
    @inlinable
    @inline(never)
    func leastHeight() -> Double {
        var costly = Double.infinity
        var costless = Double.infinity
        let isWhole = forEachFreeShard { shard in
            costly = min(costly, shard.pointee.leastHeight(for: .costLimit))
            costless = min(costless, shard.pointee.leastCostlessHeight())
        }
        let height = costless < costly ? -costless : costly
        // A shard in use is not waited for: with 160 threads that wanted room in 40 caches, 156 stood waiting to ask
        // for prices. What was known before serves, and 0, which has the cache asked, where nothing was: a cache that
        // was empty then may hold much now.
        if !isWhole {
            let known = Double(Float(bitPattern: knownPrice.load(ordering: .relaxed)))
            return known.magnitude < height.magnitude ? known : height
        }
        let known = Float(height)
        knownPrice.store(known.isFinite ? known.bitPattern : 0, ordering: .relaxed)
        return height
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
    package func evict(bytes: Int, below height: Double) -> Int {
        removeExpired()
        return specialized(self, .evictLeast(bytes: bytes, height: height))
    }

    /// Evicts entries, least worth first, until about `bytes` are free or the next one's height is above
    /// `height`; returns about how many bytes that freed.
    @inlinable
    @inline(never)
    func evictLeast(_ bytes: Int, below height: Double) -> Int {
        let bytesPerCostlessEntry = bytesPerCostlessEntry
        var freed = 0
        publishAll()
        while freed < bytes {
            var departures = EntryDepartures<Key, Value>()
            defer { finish(departures) }
            for _ in 0..<16 where freed < bytes {
                let run = evictRun(bytes - freed, below: height, bytesPerCostlessEntry, into: &departures)
                if run == 0 { return freed }
                let (sum, overflow) = freed.addingReportingOverflow(run)
                freed = overflow ? .max : sum
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
    package func age(by step: Double) -> Double {
        let word = directory.load(ordering: .acquiring)
        guard word != 0, step.isFinite, step > 0 else { return 0 }
        let inflation = Self.shard(0, of: word).pointee.policy.pointee.advanceInflation(beyond: 0, by: step)
        // A shard in use learns it from the others, soon.
        _ = forEachFreeShard { $0.pointee.raiseInflation(to: inflation) }
        return inflation
    }
}

// What insertions may take before the governor is asked again.
extension CacheEngine {
    /// What an insertion is charged at most: a tebibyte. Costs near `Int.max` must not overflow the governor's sums.
    @usableFromInline static var largestCharge: Int { 1 << 40 }

    /// Charges an insertion to the credit of `shard`, which is locked, and says whether that must be settled first.
    ///
    /// What a removal handler inserts near the mark is not charged where it was told of what one cache has evicted by
    /// itself: as a rule that is what it inserts, and it has been charged there. Charged twice it seemed to fill twice
    /// the holes that it did, and a second cache in 64 MiB was left with a hundredth of them.
    @inlinable
    @inline(__always)
    func charge(_ newcomer: Newcomer, to shard: ShardPointer) -> Bool {
        let isNearMark = shard.pointee.credit.isNearMark
        let isSpent =
            isNearMark && UserCode.isRunning && !ProcessEviction.isRunning
            ? shard.pointee.credit.remainingBytes <= 0
            : shard.pointee.credit.spend(min(newcomer.cost, Self.largestCharge))
        return isSpent || (isNearMark || Self.isSixteenth(newcomer.hash)) && isLookOverdue
    }

    /// Whether this insertion is one of those that look at the clock anyway: one in sixteen, wherever it goes. Shards
    /// that counted for themselves would all begin anew together when their credits are revoked.
    @inlinable
    @inline(__always)
    static func isSixteenth(_ hash: UInt64) -> Bool { HashSeed.spread(hash) & 0xF0_0000_0000 == 0 }

    /// Whether it is long since anybody looked at usage; see ``MemoryGovernor``.
    @usableFromInline
    @inline(never)
    var isLookOverdue: Bool { governor?.isLookOverdue ?? false }

    /// Takes the spent credit out of `shard`, unlocks it, and asks the governor for another. Until that is granted,
    /// every insertion into the shard asks.
    @usableFromInline
    @inline(never)
    func settleCredit(of shard: ShardPointer, _ hash: UInt64) {
        let spent = shard.pointee.credit.take()
        unlock(shard)
        guard let membership else { return }
        let credit = membership.renew(spent, for: self)
        let shard = lockShard(hash)
        shard.pointee.credit.add(credit)
        unlock(shard)
    }
}
