//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where keys that are not integers live: beside the index, under the same slots.
///
/// Each shard's keys are guarded by that shard's lock. Keys are moved under it, never compared, hashed or destroyed:
/// what leaves goes into a bag that the caller empties after unlocking.
class KeyStorage: @unchecked Sendable {
    // Sendable: every shard's part is touched under that shard's lock only.

    /// Moves a key into `bag`, to be destroyed later.
    func moveOut(shard: Int, slot: Int, into bag: inout [Any]) {}

    /// A copy of a key.
    func anyKey(shard: Int, slot: Int) -> Any? { nil }

    /// The bits of a key: as long as a copy of it is held, no other key that is stored has the same.
    func bits(shard: Int, slot: Int) -> [UInt8] { [] }

    /// Moves a key to another shard's slot.
    func move(shard: Int, slot: Int, toShard other: Int, slot otherSlot: Int) {}

    /// Frees the room behind the first `count` slots of a shard, in which no keys are left.
    func shrink(shard: Int, toSlots count: Int) {}
}

/// Typed storage of keys.
final class KeySlots<Key: Hashable>: KeyStorage, @unchecked Sendable {
    // Sendable: as in the superclass.

    private let parts: UnsafeMutablePointer<ChunkedSlots<Key>>

    override init() {
        parts = .allocate(capacity: PurgeableStore.shardCount)
        parts.initialize(repeating: ChunkedSlots(), count: PurgeableStore.shardCount)
    }

    deinit {
        // The store has moved every key out.
        for shard in 0..<PurgeableStore.shardCount { parts[shard].deallocate() }
        parts.deallocate()
    }

    /// Chunks of room that a shard has.
    func chunkCount(shard: Int) -> Int { parts[shard].chunkCount }

    /// The key in a slot.
    func key(shard: Int, slot: Int) -> Key { parts[shard][slot].pointee }

    /// Puts a key into a slot that has none.
    func put(_ key: Key, shard: Int, slot: Int) { place(shard, slot).initialize(to: key) }

    override func anyKey(shard: Int, slot: Int) -> Any? { key(shard: shard, slot: slot) }

    override func bits(shard: Int, slot: Int) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: parts[shard][slot], count: MemoryLayout<Key>.size))
    }

    override func moveOut(shard: Int, slot: Int, into bag: inout [Any]) { bag.append(parts[shard][slot].move()) }

    override func move(shard: Int, slot: Int, toShard other: Int, slot otherSlot: Int) {
        place(other, otherSlot).moveInitialize(from: parts[shard][slot], count: 1)
    }

    override func shrink(shard: Int, toSlots count: Int) { parts[shard].shrink(toSlots: count) }

    /// The place of a slot, for which memory is made where there is none.
    private func place(_ shard: Int, _ slot: Int) -> UnsafeMutablePointer<Key> {
        while slot >= parts[shard].capacity { parts[shard].addChunk() }
        return parts[shard][slot]
    }
}
