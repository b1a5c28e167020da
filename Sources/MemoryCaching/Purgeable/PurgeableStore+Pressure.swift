//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

/// The cache before the governor: what it holds in volatile pages the kernel takes by itself, so it offers the rest.
extension PurgeableStore: ReclaimableCache {
    /// Bytes of index that an entry takes: 16 in its slot and about 6 in the table.
    static let indexBytesPerEntry = 22

    /// The worth of the next byte to go, as for entries whose cost nobody knows: one lookup's worth over the bytes of
    /// an average item. Infinite when empty.
    @usableFromInline
    var marginalPrice: Double {
        let count = liveCount.load(ordering: .relaxed)
        guard count > 0 else { return .infinity }
        return Double(count) / Double(max(1, liveBytes.load(ordering: .relaxed)))
    }

    /// Ordinary memory that evicting would free: segments and large values that the kernel cannot take, and the index.
    @usableFromInline
    var reclaimableBytes: Int {
        log.ordinaryBytes + largeOrdinary.load(ordering: .relaxed)
            + max(0, liveCount.load(ordering: .relaxed)) * Self.indexBytesPerEntry
    }

    /// Nothing: unused content is in volatile pages, which the kernel takes before anything else.
    @usableFromInline
    func discardUnusedContent() -> Int { 0 }

    /// Frees ordinary memory: first what the kernel should have been able to take but cannot, oldest first, then the
    /// index of the oldest segments with all that they hold.
    @usableFromInline
    func evict(bytes: Int, below price: Double) -> Int {
        guard bytes > 0, marginalPrice <= price else { return 0 }
        let activeBytes = log.sealActive()
        var freed = activeBytes
        let segments = log.sealedSegmentNumbers()
        for segment in segments where freed < bytes && !segment.isVolatile {
            freed += empty(segment.number, .memoryPressure)
        }
        for segment in segments where freed < bytes && segment.isVolatile {
            let before = staleCount.load(ordering: .relaxed)
            empty(segment.number, .memoryPressure)
            freed += max(0, staleCount.load(ordering: .relaxed) - before) * Self.indexBytesPerEntry
        }
        if freed < bytes {
            lookAfterLargeValues(ordinaryBudget: max(0, largeOrdinary.load(ordering: .relaxed) - (bytes - freed)))
        }
        maintain()
        return freed
    }

    /// Makes the next insertion of every shard ask the governor again.
    @usableFromInline
    func revokeInsertionCredit() {
        for shard in 0..<Self.shardCount {
            shards[shard].lock.withLock { _ in shards[shard].state.credit.revoke() }
        }
    }

    /// Nothing: the order in which the kernel takes pages knows no prices.
    @usableFromInline
    func raisePrice(to price: Double) {}

    /// Asks the governor for another credit; no lock held.
    func renewCredit(_ hash: IndexHash) {
        let spent = locked(hash) { state, _ in
            let spent = state.credit
            // Others in this shard go on meanwhile; they ask when this is spent, too.
            state.credit = InsertionCredit(grantedBytes: spent.grantedBytes, leastCharge: spent.leastCharge)
            return spent
        }
        let next = pressure.renew(spent, for: self)
        locked(hash) { state, _ in state.credit = next }
    }
}
