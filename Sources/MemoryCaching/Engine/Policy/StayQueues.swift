//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The slots of a slab as the policy sees them: where the sixteen bytes of each begin.
@usableFromInline
struct SlabView {
    @usableFromInline let base: UnsafeMutableRawPointer
    @usableFromInline let stride: Int

    @inlinable
    @inline(__always)
    init(base: UnsafeMutableRawPointer, stride: Int) {
        self.base = base
        self.stride = stride
    }

    @inlinable
    @inline(__always)
    subscript(slot: UInt32) -> UnsafeMutablePointer<EntryMeta> {
        (base + Int(slot) &* stride).assumingMemoryBound(to: EntryMeta.self)
    }
}

/// First-in first-out queues of entries, one for each code of a stay, with the least head of all at hand.
///
/// Every queue is sorted by height, because all its entries bought the same stay and L never decreases; so the entry
/// of least height in all is the least head. Queues are doubly linked through the slab, so that any entry leaves in
/// O(1). The heights of the heads stand in one dense array that is scanned when the least one has gone: a cache of
/// equal sizes has about twenty queues, one of mixed sizes and costs some hundred, 64 bytes for each 16.
///
/// The arrays cover a window of codes that grows to either side as codes appear.
@usableFromInline
struct StayQueues {
    @usableFromInline struct Ends {
        @usableFromInline var head: UInt32 = 0
        @usableFromInline var tail: UInt32 = 0
        @inlinable init() {}
    }

    @usableFromInline var heights: UnsafeMutablePointer<Float>?
    @usableFromInline var ends: UnsafeMutablePointer<Ends>?
    /// The first code of the window and its length.
    @usableFromInline var firstCode: Int32 = 0
    @usableFromInline var capacity: Int32 = 0
    /// The window's index of the least head, and its height; infinite when all queues are empty.
    @usableFromInline var leastIndex: Int32 = 0
    @usableFromInline var leastHeight = Float.infinity

    @inlinable
    init() {}

    /// The slot of least height; 0 if there is none.
    @inlinable
    var least: UInt32 { leastHeight < .infinity ? ends.unsafelyUnwrapped[Int(leastIndex)].head : 0 }

    /// Appends `slot`, whose stay and height are set, to its queue.
    @inlinable
    mutating func append(_ slot: UInt32, in slab: SlabView) {
        let meta = slab[slot]
        var index = Int32(bitPattern: meta.pointee.info.stay.rawValue) - firstCode
        if UInt32(bitPattern: index) >= UInt32(bitPattern: capacity) {
            widen(toInclude: Int32(bitPattern: meta.pointee.info.stay.rawValue))
            index = Int32(bitPattern: meta.pointee.info.stay.rawValue) - firstCode
        }
        let queue = ends.unsafelyUnwrapped + Int(index)
        let tail = queue.pointee.tail
        meta.pointee.next = 0
        meta.pointee.previous = tail
        queue.pointee.tail = slot
        if tail == 0 {
            queue.pointee.head = slot
            let height = meta.pointee.height
            heights.unsafelyUnwrapped[Int(index)] = height
            if height < leastHeight {
                leastHeight = height
                leastIndex = index
            }
        } else {
            slab[tail].pointee.next = slot
        }
    }

    /// Takes `slot` out of its queue.
    @inlinable
    mutating func unlink(_ slot: UInt32, in slab: SlabView) {
        let meta = slab[slot]
        let (previous, next) = (meta.pointee.previous, meta.pointee.next)
        let index = Int(Int32(bitPattern: meta.pointee.info.stay.rawValue) - firstCode)
        let queue = ends.unsafelyUnwrapped + index
        if next == 0 { queue.pointee.tail = previous } else { slab[next].pointee.previous = previous }
        if previous != 0 {
            slab[previous].pointee.next = next
            return
        }
        queue.pointee.head = next
        heights.unsafelyUnwrapped[index] = next == 0 ? .infinity : slab[next].pointee.height
        if index == Int(leastIndex) { findLeast() }
    }

    /// Moves `slot` to the end of its queue, at `height`.
    @inlinable
    mutating func moveToEnd(_ slot: UInt32, height: Float, in slab: SlabView) {
        let meta = slab[slot]
        if meta.pointee.next == 0, meta.pointee.previous != 0 {
            meta.pointee.height = height
        } else {
            unlink(slot, in: slab)
            meta.pointee.height = height
            append(slot, in: slab)
        }
    }

    /// Scans the heads for the least one; of equal ones, the least code wins.
    @inlinable
    mutating func findLeast() {
        let heights = UnsafeRawPointer(heights.unsafelyUnwrapped)
        var best = Float.infinity
        var block: Int32 = 0
        var start: Int32 = 0
        while start < capacity {
            let lanes = heights.load(fromByteOffset: Int(start) * 4, as: SIMD16<Float>.self)
            let least = lanes.min()
            if least < best {
                best = least
                block = start
            }
            start += 16
        }
        leastHeight = best
        leastIndex = block
        guard best < .infinity else { return }
        let heads = self.heights.unsafelyUnwrapped
        while heads[Int(leastIndex)] != best { leastIndex += 1 }
    }

    /// Subtracts `delta` from the heights of all heads; the caller does so for the entries.
    @usableFromInline
    mutating func lower(by delta: Float) {
        for index in 0..<Int(capacity) { heights![index] -= delta }
        leastHeight -= delta
    }

    /// Makes the window include `code`.
    @usableFromInline
    mutating func widen(toInclude code: Int32) {
        var (first, last) = (code & ~15, code | 15)
        if capacity > 0 {
            first = Swift.min(first, firstCode)
            last = Swift.max(last, firstCode + capacity - 1)
        }
        let count = last - first + 1
        let newHeights = AlignedMemory.allocate(Int(count) * 4).bindMemory(to: Float.self, capacity: Int(count))
        let newEnds = UnsafeMutablePointer<Ends>.allocate(capacity: Int(count))
        newHeights.initialize(repeating: .infinity, count: Int(count))
        newEnds.initialize(repeating: Ends(), count: Int(count))
        if let heights, let ends {
            let offset = Int(firstCode - first)
            (newHeights + offset).update(from: heights, count: Int(capacity))
            (newEnds + offset).update(from: ends, count: Int(capacity))
        }
        leastIndex += capacity > 0 ? firstCode - first : 0
        deallocate()
        heights = newHeights
        ends = newEnds
        firstCode = first
        capacity = count
    }

    /// Forgets all entries; keeps the window.
    @usableFromInline
    mutating func removeAll() {
        guard let heights, let ends else { return }
        heights.update(repeating: .infinity, count: Int(capacity))
        ends.update(repeating: Ends(), count: Int(capacity))
        leastHeight = .infinity
    }

    /// Frees the window.
    @usableFromInline
    func deallocate() {
        guard let heights, let ends else { return }
        AlignedMemory.deallocate(UnsafeMutableRawPointer(heights), Int(capacity) * 4)
        ends.deallocate()
    }

    /// Calls `body` with the first slot of each queue that has any.
    @usableFromInline
    func forEachHead(_ body: (UInt32) -> Void) {
        guard let ends else { return }
        for index in 0..<Int(capacity) where ends[index].head != 0 { body(ends[index].head) }
    }
}
