//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// One shard: what its lock guards, and the lock.
struct PurgeableShard: ~Copyable {
    /// Guarded by the lock. Stands first, because ThreadSanitizer books a change of it under the shard's own address,
    /// where a lock word would seem to be changed by whoever holds it.
    var state = State()
    /// The lock's words, at the end. Touched by the lock alone.
    private let words: (UInt64, UInt64) = (0, 0)

    /// The lock of the shard at `address`. A ``ShardLock`` stands in front of an address: that of the next shard.
    ///
    /// Not a `Mutex`, which hands its priority on: with more threads than cores every hand-over waits for the kernel,
    /// and eight threads on two cores got a twentieth of what one got.
    @inline(__always)
    static func lock(_ address: UnsafeMutablePointer<PurgeableShard>) -> ShardLock {
        ShardLock(guarding: UnsafeMutableRawPointer(address + 1))
    }

    struct State: ~Copyable {
        var index = PurgeableIndex()
        /// Values too long for the log; an entry's location holds the place.
        var large: [LargeSlot?] = []
        var freeLarge: [Int] = []
        /// Keys that left lately; nil as long as the kernel has taken nothing.
        var ghosts: KeyGhosts?
        /// Where the next search for something to evict begins.
        var hand = 0
        /// Bytes of index that may be added before the governor is asked again.
        var credit = InsertionCredit()
        /// Made with the first entry that has a lifetime. Counts slots from 1.
        var wheel: TimerWheel?
        var lookups = LookupCounters()
        var insertions = 0
        var operations = 0
        /// How often entries have been moved to other slots.
        var deals = 0

        /// Keeps a large value for the entry in `slot` and answers its location.
        mutating func keep(_ value: PurgeableBytes, serial: UInt64, slot: Int) -> LogLocation {
            let place = freeLarge.popLast() ?? large.count
            if place == large.count { large.append(nil) }
            let location = LogLocation(largeAt: place, serial: serial)
            large[place] = LargeSlot(value: value, location: location, serial: serial, slot: slot)
            return location
        }

        /// Lets a large value go: the caller destroys it after unlocking.
        mutating func release(_ location: LogLocation) -> PurgeableBytes? {
            guard location.isLarge else { return nil }
            let value = large[location.largePlace]?.value
            large[location.largePlace] = nil
            freeLarge.append(location.largePlace)
            return value
        }

        /// When the lifetime of the entry in `slot` is over.
        func deadline(of slot: Int) -> EntryDeadline { wheel?.entryDeadline(of: UInt32(slot + 1)) ?? .never }

        /// Gives the entry in `slot` another lifetime.
        mutating func schedule(_ slot: Int, _ deadline: EntryDeadline) {
            wheel?.cancel(UInt32(slot + 1))
            guard deadline != .never else { return }
            if wheel == nil { wheel = TimerWheel() }
            wheel!.schedule(UInt32(slot + 1), deadline: deadline)
        }

        /// Takes the entry in `slot` out of the index.
        mutating func remove(_ slot: Int, _ hash: IndexHash) {
            wheel?.cancel(UInt32(slot + 1))
            index.remove(slot, hash)
        }

        /// Whether the entry in `slot` still points to `location`.
        func holds(_ location: LogLocation, in slot: Int) -> Bool {
            slot < index.slotCount
                && index[slot].pointee.location & ~LogLocation.referencedBit == location.unreferenced.word
        }

        /// Whether less than a quarter of the slots are in use. One chunk may be as empty as it likes.
        var isSparse: Bool { index.slotCount > max(PurgeableIndex.chunkSize, 4 * index.count) }

        /// The bytes of an entry's value.
        func byteCount(_ location: LogLocation) -> Int {
            location.isLarge ? large[location.largePlace]?.value.byteCount ?? 0 : location.byteCount
        }
    }
}
