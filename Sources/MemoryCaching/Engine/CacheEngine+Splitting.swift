//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import ForkSafety
internal import MemoryPressure
internal import Synchronization

// How few shards become many.
//
// A shard with more than ``mostEntries(_:)`` entries has a directory of more shards made. That is published before any
// entry has moved: each new shard says that its entries are elsewhere, and whose they are. Whoever comes to such a
// shard moves the entries of that one old shard, under the old one's lock, and says then that they are here. So a call
// for one key moves one shard's entries at most, and each entry is in one place at any time. Who goes over all shards
// (a listing, statistics, a large insertion, a reaction to memory pressure) moves what is left, one shard at a time.
// Who still holds an old shard's lock goes on in it; who gets it later finds that its entries are elsewhere, and asks
// the directory again.
//
// Old shards stay in memory as long as the cache, since somebody may be waiting for their locks: 768 bytes each.
extension CacheEngine {
    /// Entries beyond which one of 2 to the power of `logarithm` shards has more of them made.
    ///
    /// Up to 4,096 in all, exact order and a small footprint are worth more than parallelism. From about 65,536 on, 128
    /// shards have enough entries to rank, 512 each: see ``fewToChooseFrom``.
    static func mostEntries(_ logarithm: Int) -> UInt32 {
        switch logarithm {
        case 0: 4096
        case mostShards...: .max
        default: 65_536 >> UInt32(logarithm)
        }
    }

    /// Shards at most, as a logarithm: eight for each processor, from 16 to 64, and 128 with more than 16 processors,
    /// which is what the hash has bits for.
    ///
    /// On two processors two threads getting or setting were no faster with 64 or 128 shards than with 16 (1.61 and 1.55
    /// times one), and one thread's hits of keys in a row slower (11.3 and 9.9 ns, 100,000 entries): what a lookup needs
    /// of each shard is seldom in the nearest cache.
    private static var mostShards: Int { shardsOfProcessors > 6 ? 7 : min(max(4, shardsOfProcessors + 1), 6) }

    /// Four shards for each processor, so that two threads seldom meet, as a logarithm.
    ///
    /// Compiled with `CACHE_INTERNAL_CHECKS`, the environment's `CACHE_PROCESSORS` says how many processors there are:
    /// what holds on a small machine need not hold on a large one.
    private static var shardsOfProcessors: Int {
        var processors = Int(cms_processor_count())
        #if CACHE_INTERNAL_CHECKS
        if let value = SystemFiles.system.environment("CACHE_PROCESSORS").flatMap({ Int($0) }) { processors = value }
        #endif
        let wanted = 4 * max(1, processors)
        return Int.bitWidth - (wanted - 1).leadingZeroBitCount
    }

    /// How many shards 2 to the power of `logarithm` become, as a logarithm: 16 to 64 by the number of processors, and
    /// then ``mostShards``.
    private static func following(_ logarithm: Int) -> Int {
        logarithm > 0 ? mostShards : min(max(4, shardsOfProcessors), 6)
    }

    /// Shards that a cache has at most on this machine.
    static var mostShardCount: Int { 1 << mostShards }

    /// Publishes a directory of more shards, unless there is one that follows `word` already, or is about to be.
    @usableFromInline
    @inline(never)
    func split(_ word: UInt) {
        // What a thread of the parent of a fork was about to do, nobody does in the child. Of 255 processes one below
        // the other, each has another name.
        let process = UInt8(ForkGeneration.current % 255) + 1
        guard splittingProcess.exchange(process, ordering: .acquiringAndReleasing) != process else { return }
        defer { splittingProcess.store(0, ordering: .releasing) }
        guard directory.load(ordering: .acquiring) == word else { return }
        // What is to move into these has come.
        forEachShard { _ in }
        directory.store(makeShards(Self.following(Int(word & 63)), from: word), ordering: .releasing)
    }

    /// The word of a directory of new shards, into which the entries of the shards of `word` are to move.
    private func makeShards(_ logarithm: Int, from word: UInt) -> UInt {
        let count = 1 << logarithm
        let headerSize = Self.headerSize(count: count)
        let block = AlignedMemory.allocate(headerSize + count * Self.shardStride)
        let published = block.bindMemory(to: Atomic<UInt64>.self, capacity: count * 2)
        let first = block + headerSize
        let new = UInt(bitPattern: first) | UInt(logarithm)
        for index in 0..<count {
            let origin = Self.shard(index & (1 << Int(word & 63) - 1), of: word)
            let shard = Self.shard(index, of: new)
            ShardLock(guarding: shard).initialize()
            let tablePlace = TablePlace(index, before: first)
            tablePlace.initialize()
            shard.initialize(
                to: Shard(
                    storage: makeStorage(),
                    room: origin.pointee.room,
                    policy: origin.pointee.policy,
                    published: published + index * 2,
                    tablePlace: tablePlace,
                    directory: new,
                    origin: origin,
                    mostEntries: Self.mostEntries(logarithm)
                )
            )
            shard.pointee.isElsewhere = true
            // So the cheapest of all entries is found also before it has moved.
            lock(origin)
            let (all, costly) = origin.pointee.leastHeights
            unlock(origin)
            (published + index * 2).initialize(to: Atomic(all.bitPattern))
            (published + index * 2 + 1).initialize(to: Atomic(costly.bitPattern))
        }
        return new
    }

    /// Moves the entries in that `shard`, which is not locked, waits for, with those that its siblings wait for from
    /// the same old shard. Does nothing if they have come meanwhile, or have moved on.
    @inlinable
    @inline(never)
    func moveIn(_ shard: ShardPointer) {
        guard let origin = shard.pointee.origin else { return }
        lock(origin)
        defer { unlock(origin) }
        guard !origin.pointee.isElsewhere else { return }
        let word = shard.pointee.directory
        let step = 1 << Int(origin.pointee.directory & 63)
        let index = Self.number(of: shard) & (step - 1)
        let count = 1 << Int(word & 63)
        let heirs = stride(from: index, to: count, by: step)
        // Nobody writes into the new shards before they say that their entries are here.
        for index in heirs { Self.shard(index, of: word).pointee.inherit(from: origin, heirs: count / step) }
        moveEntries(from: origin, to: word)
        Self.shard(index, of: word).pointee.inheritCounts(from: origin)
        origin.pointee.room.pointee.giveBack(places: 0, cost: origin.pointee.stock)
        origin.pointee.retire()
        for index in heirs {
            let heir = Self.shard(index, of: word)
            // Who has a new shard's lock before it is open lets go of it at once, and waits for nothing meanwhile.
            lock(heir)
            heir.pointee.open()
            unlock(heir)
        }
    }

    /// Moves all entries of `old` to the shards of `word` that they belong to, in the order in which they wait.
    @inlinable
    func moveEntries(from old: ShardPointer, to word: UInt) {
        let view = old.pointee.storage.view
        old.pointee.order.forEachHead { head in
            var slot = head
            while slot != 0 {
                let following = view[slot].pointee.next
                let hash = old.pointee.storage.hash(of: slot)
                let shard = Self.shard(Self.shardIndex(hash, of: word), of: word)
                let entry = (old.pointee.storage.entries + Int(slot)).move()
                let info = entry.meta.info
                let moved = shard.pointee.storage.insert(entry, hash: hash)
                shard.pointee.storage.setCost(old.pointee.storage.cost(of: slot), of: moved)
                if SampledUses.includes(hash), shard.pointee.maySample(info) {
                    shard.pointee.sampled += 1
                    shard.pointee.toldSampled += 1
                }
                if info.has(EntryInfo.expires) {
                    shard.pointee.schedule(moved, deadline: old.pointee.wheel!.entryDeadline(of: slot))
                }
                shard.pointee.order.append(moved, in: shard.pointee.storage.view)
                slot = following
            }
        }
    }
}
