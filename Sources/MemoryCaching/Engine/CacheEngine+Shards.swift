//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import MemoryPressure
public import Synchronization

extension CacheEngine {
    /// Past this many entries one shard becomes several. Below it, exact order and a small footprint are worth more
    /// than parallelism; with less than about 1,000 entries a shard, the policy has too little to rank.
    @usableFromInline static var splitCount: Int { 4096 }

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
    static func headerSize(count: Int) -> Int { (count * 16 + 63) & ~63 + TablePlace.size(count: count) }

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
                shardCount: 1
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

    func makeStorage() -> EntryStorage<Key, Value> {
        EntryStorage(seed: seed, keepsIdentities: !KeyHash<Key>.isInteger || hooks != nil)
    }

    /// The shard of number `index`, locked; nil where there are not so many.
    func lockShard(at index: Int) -> ShardPointer? {
        while true {
            let word = directory.load(ordering: .acquiring)
            guard word != 0, index < 1 << Int(word & 63) else { return nil }
            let shard = Self.shard(index, of: word)
            ShardLock(guarding: UnsafeMutableRawPointer(shard)).lock()
            if !shard.pointee.isRetired { return shard }
            unlock(shard)
        }
    }

    /// Calls `body` with every shard, each locked for the time.
    @usableFromInline
    func forEachShard(_ body: (ShardPointer) -> Void) {
        while true {
            let word = directory.load(ordering: .acquiring)
            if word == 0 { return }
            for index in 0..<1 << Int(word & 63) {
                let shard = Self.shard(index, of: word)
                ShardLock(guarding: UnsafeMutableRawPointer(shard)).lock()
                if shard.pointee.isRetired {
                    // Only the first of all is ever retired, so that nothing has been seen yet.
                    unlock(shard)
                    break
                }
                body(shard)
                unlock(shard)
                if index == 1 << Int(word & 63) - 1 { return }
            }
        }
    }

    /// Calls `body` with every shard that is not in use, each locked for the time; returns whether these were all.
    func forEachFreeShard(_ body: (ShardPointer) -> Void) -> Bool {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return true }
        var isWhole = true
        for index in 0..<1 << Int(word & 63) {
            let shard = Self.shard(index, of: word)
            guard ShardLock(guarding: UnsafeMutableRawPointer(shard)).tryLock() else {
                isWhole = false
                continue
            }
            if shard.pointee.isRetired { isWhole = false } else { body(shard) }
            unlock(shard)
        }
        return isWhole
    }

    /// Moves the entries of the one shard to many, in the order in which they wait.
    @usableFromInline
    @inline(never)
    func split() {
        let word = directory.load(ordering: .acquiring)
        guard word != 0, word & 63 == 0 else { return }
        let old = Self.shard(0, of: word)
        ShardLock(guarding: UnsafeMutableRawPointer(old)).lock()
        defer { unlock(old) }
        guard !old.pointee.isRetired else { return }

        let logarithm = Self.shardCountLogarithm
        let count = 1 << logarithm
        let headerSize = Self.headerSize(count: count)
        let block = AlignedMemory.allocate(headerSize + count * Self.shardStride)
        let published = block.bindMemory(to: Atomic<UInt64>.self, capacity: count * 2)
        for index in 0..<count * 2 {
            (published + index).initialize(to: Atomic(Double.infinity.bitPattern))
        }
        let newFirst = block + headerSize
        let newWord = UInt(bitPattern: newFirst) | UInt(logarithm)
        for index in 0..<count {
            let shard = Self.shard(index, of: newWord)
            ShardLock(guarding: shard).initialize()
            let tablePlace = TablePlace(index, before: newFirst)
            tablePlace.initialize()
            shard.initialize(
                to: Shard(
                    storage: makeStorage(),
                    room: old.pointee.room,
                    policy: old.pointee.policy,
                    published: published + index * 2,
                    tablePlace: tablePlace,
                    shardCount: count
                )
            )
            shard.pointee.base = old.pointee.base
            shard.pointee.inflation = old.pointee.inflation
            // Else an entry's epoch comes again, and uses of it move nothing while it does.
            shard.pointee.epoch = old.pointee.epoch
            shard.pointee.weights = old.pointee.weights
            shard.pointee.ghosts.meanAge = old.pointee.ghosts.meanAge
            shard.pointee.ghosts.unit = old.pointee.ghosts.unit
            shard.pointee.storage.generation = old.pointee.storage.generation
        }
        move(from: old, to: newWord)
        // Counters go to the first shard; sums are all that is ever asked for.
        let first = Self.shard(0, of: newWord)
        first.pointee.lookups = old.pointee.lookups
        first.pointee.counters = old.pointee.counters
        first.pointee.evidence = old.pointee.evidence
        first.pointee.uses = old.pointee.uses
        first.pointee.credit = old.pointee.credit
        for index in 0..<count {
            let shard = Self.shard(index, of: newWord)
            shard.pointee.publish()
            shard.pointee.publishTable()
        }
        old.pointee.storage.deallocate()
        old.pointee.order.deallocate()
        old.pointee.ghosts.deallocate()
        old.pointee.wheel = nil
        old.pointee.isRetired = true
        directory.store(newWord, ordering: .releasing)
    }

    private func move(from old: ShardPointer, to newWord: UInt) {
        let view = old.pointee.storage.view
        func moveQueue(from head: UInt32) {
            var slot = head
            while slot != 0 {
                let following = view[slot].pointee.next
                let hash = old.pointee.storage.hash(of: slot)
                let shard = Self.shard(Self.shardIndex(hash, of: newWord), of: newWord)
                let entry = (old.pointee.storage.entries + Int(slot)).move()
                let info = entry.meta.info
                let moved = shard.pointee.storage.insert(entry, hash: hash)
                shard.pointee.storage.setCost(old.pointee.storage.cost(of: slot), of: moved)
                if SampledUses.includes(hash), info.maySample { shard.pointee.sampled += 1 }
                if info.has(EntryInfo.expires) {
                    shard.pointee.schedule(moved, deadline: old.pointee.wheel!.entryDeadline(of: slot))
                }
                shard.pointee.order.append(moved, in: shard.pointee.storage.view)
                slot = following
            }
        }
        old.pointee.order.forEachHead(moveQueue)
    }

    /// At least four shards a processor, so that two threads seldom meet: 16 to 128.
    ///
    /// Compiled with `CACHE_INTERNAL_CHECKS`, the environment's `CACHE_PROCESSORS` says how many there are: what holds
    /// on a small machine need not hold on a large one.
    static var shardCountLogarithm: Int {
        var processors = Int(cms_processor_count())
        #if CACHE_INTERNAL_CHECKS
        if let value = SystemFiles.system.environment("CACHE_PROCESSORS").flatMap({ Int($0) }) { processors = value }
        #endif
        let wanted = 4 * max(1, processors)
        return min(max(4, Int.bitWidth - (wanted - 1).leadingZeroBitCount), 7)
    }

    /// Lets go of everything, one entry after the other.
    func destroyShards() {
        let word = directory.load(ordering: .acquiring)
        if word == 0 { return }
        let count = 1 << Int(word & 63)
        let policy = Self.shard(0, of: word).pointee.policy
        for index in 0..<count {
            let shard = Self.shard(index, of: word)
            let storage = shard.pointee.storage
            if !_isPOD(Key.self) || !_isPOD(Value.self) {
                storage.forEachSlot { (storage.entries + Int($0)).deinitialize(count: 1) }
            }
            storage.deallocate()
            shard.pointee.order.deallocate()
            shard.pointee.ghosts.deallocate()
            shard.deinitialize(count: 1)
        }
        if count > 1 {
            let headerSize = Self.headerSize(count: count)
            let block = UnsafeMutableRawPointer(bitPattern: word & ~63)! - headerSize
            AlignedMemory.deallocate(block, headerSize + count * Self.shardStride)
        }
        policy.deinitialize(count: 1)
        AlignedMemory.deallocate(
            UnsafeMutableRawPointer(policy) - Self.policyDistance,
            Self.firstBlockSize
        )
    }
}
