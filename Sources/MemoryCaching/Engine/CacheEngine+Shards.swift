//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

extension CacheEngine {
    /// Bytes from one shard to the next: whole cache lines.
    @inlinable
    @inline(always)
    static var shardStride: Int { (ShardLock.distance &+ MemoryLayout<Shard<Key, Value>>.size &+ 63) & ~63 }

    /// Bytes before the shared policy, in which its lock lies: as many as its vectors are aligned to.
    static var policyDistance: Int { max(ShardLock.distance, MemoryLayout<SharedPolicy>.alignment) }

    /// Bytes of the shared policy and its lock.
    static var policySize: Int { (policyDistance + MemoryLayout<SharedPolicy>.size + 63) & ~63 }

    /// Bytes of the room and of the lock of large insertions: cache lines of its own.
    static var roomSize: Int { (ShardLock.distance + MemoryLayout<Room>.size + 63) & ~63 }

    /// Bytes of the block of the shared policy, the room and the one shard that a cache begins with.
    static var firstBlockSize: Int { policySize + roomSize + TablePlace.size(count: 1) + shardStride }

    /// Bytes before the first of `count` shards: the heights that they publish, and the places of their tables.
    static func headerSize(count: Int) -> Int { (count * 32 + 63) & ~63 + TablePlace.size(count: count) }

    @inlinable
    @inline(always)
    static func shard(_ index: Int, of word: UInt) -> ShardPointer {
        CacheEngine.shard(index, from: UnsafeMutableRawPointer(bitPattern: word & ~63).unsafelyUnwrapped)
    }

    /// The shard of number `index`, where the first one's lock lies at `first`.
    @inlinable
    @inline(always)
    static func shard(_ index: Int, from first: UnsafeMutableRawPointer) -> ShardPointer {
        (first + (index &* CacheEngine.shardStride &+ ShardLock.distance))
            .assumingMemoryBound(to: Shard<Key, Value>.self)
    }

    /// The number of `shard`, one of many, in the directory that it stands in.
    @inlinable
    static func number(of shard: ShardPointer) -> Int {
        let first = Self.shard(0, of: shard.pointee.directory).pointee.published.unsafelyUnwrapped
        return (shard.pointee.published.unsafelyUnwrapped - first) / 2
    }

    /// Makes the one shard that a cache begins with, and the shared policy before it, in one block.
    @usableFromInline
    @inline(never)
    func makeFirstShard() {
        let block = AlignedMemory.allocate(Self.firstBlockSize)
        let policy = (block + Self.policyDistance).bindMemory(to: SharedPolicy.self, capacity: 1)
        ShardLock(guarding: policy).initialize()
        policy.initialize(to: SharedPolicy(membership: governor.map(PressureMembership.init(governor:))))
        let room = (block + Self.policySize + ShardLock.distance).bindMemory(to: Room.self, capacity: 1)
        ShardLock(guarding: room).initialize()
        room.initialize(to: Room())
        let first = block + Self.policySize + Self.roomSize + TablePlace.size(count: 1)
        let word = UInt(bitPattern: first)
        let tablePlace = TablePlace(0, before: first)
        tablePlace.initialize()
        let shard = Self.shard(0, of: word)
        ShardLock(guarding: shard).initialize()
        shard.initialize(
            to: Shard(
                storage: makeStorage(),
                room: room,
                policy: policy,
                published: nil,
                tablePlace: tablePlace,
                directory: word,
                origin: nil,
                mostEntries: ShardCounts.mostEntries(0),
                isByUse: ordering == .reuse
            )
        )
        // By reuse, all densities are 1 and so is their mean, also before the policy has seen an insertion.
        if ordering == .reuse { shard.pointee.weights.meanDensity = 0 }
        if !directory.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing).exchanged {
            shard.pointee.storage.deallocate()
            shard.deinitialize(count: 1)
            policy.deinitialize(count: 1)
            AlignedMemory.deallocate(block, Self.firstBlockSize)
        }
    }

    /// Entries held, as a shard's own critical section reads it.
    @inlinable
    @inline(always)
    func entryCount(_ shard: ShardPointer) -> Int { shard.pointee.room.pointee.places.load(ordering: .relaxed) }

    /// How many shards there are; 1 before the first access.
    var shardCount: Int { 1 << Int(directory.load(ordering: .acquiring) & 63) }

    func makeStorage(in stable: Unmanaged<StableMemory>? = nil) -> EntryStorage<Key, Value> {
        EntryStorage(seed: seed, keepsIdentities: !KeyHash<Key>.isInteger || hooks != nil, stable: stable)
    }

    /// The shard of number `index`, locked; nil where there are not so many.
    @inlinable
    func lockShard(at index: Int) -> ShardPointer? {
        while true {
            let word = directory.load(ordering: .acquiring)
            guard word != 0, index < 1 << Int(word & 63) else { return nil }
            let shard = Self.shard(index, of: word)
            lock(shard)
            if !shard.pointee.isElsewhere { return shard }
            unlock(shard)
            _ = specialized(self, .moveIn(shard))
        }
    }

    /// Calls `body` with every shard, each locked for the time.
    @inlinable
    func forEachShard(_ body: (ShardPointer) -> Void) {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return }
        for index in 0..<1 << Int(word & 63) { visit(index, of: word, body) }
    }

    /// Calls `body` with the shard of number `index` in the directory `word`, locked, or with all those that its
    /// entries have moved on to: each entry is in one of the shards that are visited, whenever a split happens.
    @inlinable
    func visit(_ index: Int, of word: UInt, _ body: (ShardPointer) -> Void) {
        let shard = Self.shard(index, of: word)
        while true {
            lock(shard)
            if !shard.pointee.isElsewhere {
                body(shard)
                return unlock(shard)
            }
            unlock(shard)
            let present = directory.load(ordering: .acquiring)
            if present != word {
                let (count, presentCount) = (1 << Int(word & 63), 1 << Int(present & 63))
                for next in stride(from: index, to: presentCount, by: count) { visit(next, of: present, body) }
                return
            }
            _ = specialized(self, .moveIn(shard))
        }
    }

    /// Calls `body` with every shard that is not in use, each locked for the time; returns whether these were all.
    @inlinable
    func forEachFreeShard(_ body: (ShardPointer) -> Void) -> Bool {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return true }
        var isWhole = true
        for index in 0..<1 << Int(word & 63) {
            let shard = Self.shard(index, of: word)
            guard tryLock(shard) else {
                isWhole = false
                continue
            }
            if shard.pointee.isElsewhere { isWhole = false } else { body(shard) }
            unlock(shard)
        }
        return isWhole
    }

    /// Lets go of everything, one entry after the other.
    func destroyShards() {
        defer { destroyReaderCounts() }
        let present = directory.load(ordering: .acquiring)
        var word = present
        while word != 0 {
            let first = Self.shard(0, of: word)
            let (policy, origin) = (first.pointee.policy, first.pointee.origin)
            let count = 1 << Int(word & 63)
            for index in 0..<count {
                let shard = Self.shard(index, of: word)
                // What has moved on has been let go of. What is still to move in is not there yet, but has memory.
                if word == present || !shard.pointee.isElsewhere { destroy(shard) }
                shard.deinitialize(count: 1)
            }
            if count > 1 {
                let headerSize = Self.headerSize(count: count)
                let block = UnsafeMutableRawPointer(bitPattern: word & ~63)! - headerSize
                AlignedMemory.deallocate(block, headerSize + count * Self.shardStride)
            } else {
                policy.deinitialize(count: 1)
                AlignedMemory.deallocate(UnsafeMutableRawPointer(policy) - Self.policyDistance, Self.firstBlockSize)
            }
            word = origin?.pointee.directory ?? 0
        }
    }

    /// Lets go of the entries of `shard` and of its memory.
    private func destroy(_ shard: ShardPointer) {
        let storage = shard.pointee.storage
        if !_isPOD(Key.self) || !_isPOD(Value.self) {
            storage.forEachSlot { (storage.entries + Int($0)).deinitialize(count: 1) }
        }
        // Nobody reads any more.
        shard.pointee.storage.stable = nil
        shard.pointee.deallocate()
    }
}
