//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

extension CacheEngine {
    /// Traps unless all structures agree with each other. Only while no other thread uses the cache. Does nothing
    /// unless compiled with `CACHE_INTERNAL_CHECKS`.
    ///
    /// - Complexity: O(*n*).
    package func _checkInvariants() {
        #if CACHE_INTERNAL_CHECKS
        var count = 0
        var (cost, handedOut): (UInt, UInt) = (0, 0)
        forEachShard { shard in
            checkTable(of: shard)
            checkQueues(of: shard)
            count += shard.pointee.storage.count
            shard.pointee.storage.forEachSlot { cost &+= UInt(bitPattern: shard.pointee.storage.cost(of: $0)) }
            precondition(
                shard.pointee.stock >= 0 && shard.pointee.stock <= mostStock(of: shard),
                "a stock is too large"
            )
            handedOut &+= UInt(bitPattern: shard.pointee.stock)
        }
        handedOut &+= cost
        precondition(count == entryCount, "the room and the shards disagree on entries")
        precondition(
            handedOut == room?.pointee.cost.load(ordering: .relaxed) ?? 0,
            "the room and the shards disagree on cost"
        )
        precondition(!limits.isReserved.load(ordering: .relaxed), "the room is reserved for nobody")
        let (countLimit, costLimit) = (self.countLimit, totalCostLimit)
        precondition(countLimit <= 0 || count <= countLimit, "more entries than the limit")
        precondition(costLimit <= 0 || cost <= UInt(costLimit), "more cost than the limit")
        #endif
    }

    #if CACHE_INTERNAL_CHECKS
    /// Every entry is found by its stored hash, and the table holds nothing else.
    private func checkTable(of shard: ShardPointer) {
        let storage = shard.pointee.storage
        let slotMask = EntryStorage<Key, Value>.slotMask
        var words = 0
        for index in 0..<storage.layout.size where storage.table[index] != 0 { words += 1 }
        if let old = storage.oldTable {
            // Its words of slots below, or of none, no longer count.
            for index in 0..<storage.oldLayout.size where old[index] & slotMask >= storage.movedSlots { words += 1 }
        }
        precondition(words == storage.count, "the table has other words than entries")
        precondition(16 * words <= 11 * storage.layout.size, "the table is more than eleven sixteenths full")
        // Only a governor says that memory is scarce.
        precondition(governor != nil || 2 * words <= storage.layout.size, "the table is more than half full")
        var live = 0
        storage.forEachSlot { slot in
            live += 1
            let hash = storage.hash(of: slot)
            var reached = false
            for (table, layout) in [(storage.table, storage.layout), (storage.oldTable, storage.oldLayout)] {
                guard let table, table == storage.table || slot >= storage.movedSlots else { continue }
                let placed = EntryStorage<Key, Value>.placed(hash, by: layout)
                var index = layout.home(placed)
                while table[Int(index)] != 0, !reached {
                    reached = table[Int(index)] == EntryStorage<Key, Value>.tag(placed) | slot
                    index = layout.next(index)
                }
            }
            precondition(reached, "an entry cannot be reached from its home")
        }
        precondition(live == storage.count, "the count of entries is wrong")
        var vacant = storage.firstVacant
        while vacant != 0 {
            precondition(storage.view[vacant].pointee.info == .vacant, "an entry is on the list of vacant slots")
            live += 1
            vacant = storage.view[vacant].pointee.next
        }
        precondition(live == Int(storage.highWater) - 1, "a slot is neither taken nor vacant")
    }

    /// Every entry is in the queue of its stay, queues are sorted by height, and the least head is known.
    private func checkQueues(of shard: ShardPointer) {
        let view = shard.pointee.storage.view
        var queued = 0
        for (queues, isCostless) in [(shard.pointee.order.costly, false), (shard.pointee.order.costless, true)] {
            var least = Float.infinity
            queues.forEachHead { head in
                var slot = head
                var previous: UInt32 = 0
                least = min(least, view[head].pointee.height)
                while slot != 0 {
                    let meta = view[slot].pointee
                    queued += 1
                    precondition(meta.previous == previous, "a queue's links disagree")
                    precondition(meta.info.stay == view[head].pointee.info.stay, "an entry is in another's queue")
                    precondition(meta.info.has(EntryInfo.costless) == isCostless, "an entry is on the wrong side")
                    precondition(isCostless == (shard.pointee.storage.cost(of: slot) == 0), "cost and queue disagree")
                    if previous != 0 {
                        precondition(meta.height >= view[previous].pointee.height, "a queue is not sorted")
                    }
                    previous = slot
                    slot = meta.next
                }
            }
            precondition(least == queues.leastHeight, "the least head is not the least")
            guard ordering == .reuse else { continue }
            let mark = isCostless ? shard.pointee.costlessMark : shard.pointee.costlyMark
            let held = shard.pointee.costlessHeld
            checkMark(mark, of: queues, isCostless ? held : UInt32(shard.pointee.storage.count) - held, in: view)
        }
        precondition(queued == shard.pointee.storage.count, "an entry is in no queue")
        // In order of worth a shard may say so late: where nothing else can go, all are asked.
        guard ordering == .reuse, let published = shard.pointee.published else { return }
        for cause in [RemovalCause.memoryPressure, .costLimit] where shard.pointee.leastHeight(for: cause) < .infinity {
            let height = published[Shard<Key, Value>.publishedPlace(of: 0, for: cause)].load(ordering: .relaxed)
            precondition(height < Double.infinity.bitPattern, "the others do not know that something can go")
        }
    }

    /// A mark stands in its queue, of `count` entries, with at most a fourteenth of them before it.
    private func checkMark(_ mark: OldestMark, of queues: StayQueues, _ count: UInt32, in view: SlabView) {
        var queued: UInt32 = 0
        var place: UInt32?
        queues.forEachHead { head in
            var slot = head
            while slot != 0 {
                if slot == mark.slot { place = queued }
                queued += 1
                slot = view[slot].pointee.next
            }
        }
        precondition(queued == count, "the entries that cost nothing are not as many as was noted")
        precondition(mark.slot == 0 || place.map { 14 * $0 <= count } == true, "a mark is too far from the oldest")
    }
    #endif
}
