//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where keys that are not integers live: beside the index, under the same slots.
///
/// Each shard's keys are guarded by that shard's lock. Keys are moved and copied under it, never hashed or destroyed,
/// and compared only where that is harmless: what leaves goes into a bag that the caller empties after unlocking.
///
/// This class does not know the keys' type, so that a ``PurgeableStore`` need not.
class KeyStorage: @unchecked Sendable {
    // Sendable: every shard's part is touched under that shard's lock only.

    /// Moves a key into `bag`, to be destroyed later.
    func moveOut(shard: Int, slot: Int, into bag: inout [Any]) {}

    /// A copy of a key.
    func anyKey(shard: Int, slot: Int) -> Any? { nil }

    /// A copy of a key in memory of its own, with the bits of the key behind it, until ``deallocate(_:)``.
    func copy(shard: Int, slot: Int) -> UnsafeMutableRawPointer { fatalError("keys of no type") }

    /// Whether the key in a slot has the bits that the copied one had in its slot. Not those of the copy: what lies
    /// between the fields of a key need not be copied with it.
    func hasBits(of copy: UnsafeRawPointer, shard: Int, slot: Int) -> Bool { false }

    /// Destroys a copy of a key and frees its memory; called without a lock.
    func deallocate(_ copy: UnsafeMutableRawPointer) {}

    /// Puts a copy of the key at an address into a slot that has none.
    func put(_ key: UnsafeRawPointer, shard: Int, slot: Int) {}

    /// Whether a key that is stored is equal to the one at an address, which is harmless to compare.
    func isEqual(shard: Int, slot: Int, toHarmless key: UnsafeRawPointer) -> Bool { false }

    /// Whether two keys at their addresses are equal, by their own `==`; called without a lock.
    func areEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer) -> Bool { false }

    /// Bytes that the key at an address takes, as far as its type tells.
    func byteCount(of key: UnsafeRawPointer) -> Int { 0 }

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

    override func put(_ key: UnsafeRawPointer, shard: Int, slot: Int) {
        place(shard, slot).initialize(to: Self.key(key).pointee)
    }

    override func copy(shard: Int, slot: Int) -> UnsafeMutableRawPointer {
        let copy = UnsafeMutablePointer<Key>.allocate(capacity: 2)
        copy.initialize(to: parts[shard][slot].pointee)
        UnsafeMutableRawPointer(copy + 1).copyMemory(from: parts[shard][slot], byteCount: MemoryLayout<Key>.size)
        return UnsafeMutableRawPointer(copy)
    }

    override func hasBits(of copy: UnsafeRawPointer, shard: Int, slot: Int) -> Bool {
        let size = MemoryLayout<Key>.size
        let (bits, stored) = (copy + MemoryLayout<Key>.stride, UnsafeRawPointer(parts[shard][slot]))
        if size == 8 { return bits.loadUnaligned(as: UInt64.self) == stored.loadUnaligned(as: UInt64.self) }
        return UnsafeRawBufferPointer(start: bits, count: size)
            .elementsEqual(UnsafeRawBufferPointer(start: stored, count: size))
    }

    override func deallocate(_ copy: UnsafeMutableRawPointer) {
        let copy = copy.assumingMemoryBound(to: Key.self)
        copy.deinitialize(count: 1)
        copy.deallocate()
    }

    override func isEqual(shard: Int, slot: Int, toHarmless key: UnsafeRawPointer) -> Bool {
        let stored = UnsafePointer(parts[shard][slot])
        // In place: what is compiled for any key copies both texts first, which counts references to them and takes 200
        // instructions more.
        if Key.self == String.self {
            return TextComparison.isEqual(Self.text(stored).pointee, to: Self.text(key).pointee)
        }
        return KeyHash.isEqual(stored.pointee, to: Self.key(key).pointee)
    }

    override func areEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer) -> Bool {
        Self.key(left).pointee == Self.key(right).pointee
    }

    override func byteCount(of key: UnsafeRawPointer) -> Int {
        MemoryLayout<Key>.stride + (Key.self == String.self ? Self.text(key).pointee.utf8.count : 0)
    }

    override func anyKey(shard: Int, slot: Int) -> Any? { parts[shard][slot].pointee }

    override func bits(shard: Int, slot: Int) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: parts[shard][slot], count: MemoryLayout<Key>.size))
    }

    override func moveOut(shard: Int, slot: Int, into bag: inout [Any]) { bag.append(parts[shard][slot].move()) }

    override func move(shard: Int, slot: Int, toShard other: Int, slot otherSlot: Int) {
        place(other, otherSlot).moveInitialize(from: parts[shard][slot], count: 1)
    }

    override func shrink(shard: Int, toSlots count: Int) { parts[shard].shrink(toSlots: count) }

    private static func key(_ key: UnsafeRawPointer) -> UnsafePointer<Key> { key.assumingMemoryBound(to: Key.self) }

    /// The same where keys are texts.
    private static func text(_ key: UnsafeRawPointer) -> UnsafePointer<String> {
        key.assumingMemoryBound(to: String.self)
    }

    /// The place of a slot, for which memory is made where there is none.
    private func place(_ shard: Int, _ slot: Int) -> UnsafeMutablePointer<Key> {
        while slot >= parts[shard].capacity { parts[shard].addChunk() }
        return parts[shard][slot]
    }
}
