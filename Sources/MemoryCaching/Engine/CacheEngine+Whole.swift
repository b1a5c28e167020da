//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

extension CacheEngine {
    /// Entries held, without those whose lifetime is over.
    package var count: Int {
        removeExpired()
        return entryCount
    }

    /// Sum of the costs held, without those whose lifetime is over; saturates at `Int.max`.
    package var totalCost: Int {
        removeExpired()
        return heldCost
    }

    /// What has happened so far.
    package var statistics: CacheStatistics {
        var result = CacheStatistics()
        forEachShard { shard in
            let (lookups, counters) = (shard.pointee.lookups, shard.pointee.counters)
            result.hits += lookups.hits
            result.misses += lookups.misses
            result.insertions += shard.pointee.insertions + shard.pointee.exchanges
            result.refusals += counters.refusals
            result.removalCounts += counters.removals
            result.removalCounts[.replaced] += shard.pointee.exchanges
        }
        let withoutLock = lookupsWithoutLock
        result.hits += withoutLock.hits
        result.misses += withoutLock.misses
        membership?.write(to: &result)
        result.count = entryCount
        result.totalCost = heldCost
        return result
    }

    // MARK: What has been handed out

    /// What has been handed out; nil before the first access.
    @usableFromInline
    var room: UnsafeMutablePointer<Room>? {
        let word = directory.load(ordering: .acquiring)
        return word == 0 ? nil : Self.shard(0, of: word).pointee.room
    }

    /// Entries held, those whose lifetime is over among them.
    @usableFromInline
    var entryCount: Int { room?.pointee.places.load(ordering: .relaxed) ?? 0 }

    /// Sum of the costs held, of entries whose lifetime is over too; saturates at `Int.max`.
    @usableFromInline
    var heldCost: Int {
        guard let room else { return 0 }
        let handedOut = room.pointee.totalCost
        guard limits.cost.load(ordering: .relaxed) > 0, shardCount > 1 else { return handedOut }
        var stocks = 0
        forEachShard { stocks += $0.pointee.stock }
        return max(0, handedOut - stocks)
    }

    /// Returns the stocks of all shards to what nobody has. Every critical section that began before has ended when it
    /// returns, and with it every draw within limits that were other ones then.
    @usableFromInline
    func drainStocks() {
        forEachShard { shard in
            shard.pointee.room.pointee.giveBack(places: 0, cost: shard.pointee.stock)
            shard.pointee.stock = 0
        }
    }
}
