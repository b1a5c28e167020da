//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import Synchronization

// How few shards become many.
//
// A shard with more entries than ``ShardCounts`` allows has a directory of more shards made. That is published before
// any entry has moved: each new shard says that its entries are elsewhere, and whose they are. Whoever comes to such a
// shard moves the entries of that one old shard, under the old one's lock, and says then that they are here. So a call
// for one key moves one shard's entries at most, and each entry is in one place at any time. Who goes over all shards
// (a listing, statistics, a large insertion, a reaction to memory pressure) moves what is left, one shard at a time.
// Who still holds an old shard's lock goes on in it; who gets it later finds that its entries are elsewhere, and asks
// the directory again.
//
// Old shards stay in memory as long as the cache, since somebody may be waiting for their locks: 768 bytes each.
extension CacheEngine {
    /// Shards that a cache has at most on this machine.
    static var mostShardCount: Int { 1 << ShardCounts.most }

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
        let logarithm = word & 63 == 0 ? ShardCounts.first : ShardCounts.most
        directory.store(makeShards(logarithm, from: word), ordering: .releasing)
    }

    /// The word of a directory of new shards, into which the entries of the shards of `word` are to move.
    private func makeShards(_ logarithm: Int, from word: UInt) -> UInt {
        let count = 1 << logarithm
        let headerSize = Self.headerSize(count: count)
        let block = AlignedMemory.allocate(headerSize + count * Self.shardStride)
        let published = block.bindMemory(to: Atomic<UInt64>.self, capacity: count * 4)
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
                    mostEntries: ShardCounts.mostEntries(logarithm),
                    isByUse: ordering == .reuse
                )
            )
            shard.pointee.isElsewhere = true
            // So the cheapest of all entries is found also before it has moved.
            lock(origin)
            let (all, costly) = origin.pointee.leastHeights
            unlock(origin)
            for place in [published + index * 2, published + (count + index) * 2] {
                place.initialize(to: Atomic(all.bitPattern))
                (place + 1).initialize(to: Atomic(costly.bitPattern))
            }
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
        let ghosts = origin.pointee.ghosts.inherited(byEachOf: count / step, inflation: origin.pointee.inflation)
        for index in heirs {
            Self.shard(index, of: word).pointee.inherit(from: origin, heirs: count / step, ghosts.copy())
        }
        ghosts.deallocate()
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
                if info.has(EntryInfo.exact) { shard.pointee.noteArrival(info) }
                slot = following
            }
        }
    }
}
