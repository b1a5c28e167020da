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
/// O(1). Over the heights of the heads stands a tournament: a binary tree in which each node is the lesser of its two
/// children, so that a changed head costs at most one comparison a level. A cache of equal sizes has a window of 64
/// queues, six levels; one of mixed sizes and costs up to 512, and none more than 1,024.
///
/// Most heads make way for one of the same height (94 % of those that leave, with requests by Zipf's law): who has won
/// is remembered until a height changes, and then neither asking nor leaving reads the tree. A queue's ends, the height
/// of its head and a node of the tree lie in sixteen bytes: many shards, each with few queues, are seldom all in the
/// processor's nearest cache.
///
/// The window covers codes that grow to either side as they appear, by doubling: what is more than was asked for lies
/// where the window grew, because the next code is likely to appear there. So the window is at most four times as long
/// as the codes that have appeared lie apart.
@usableFromInline
struct StayQueues {
    @usableFromInline struct Queue {
        @usableFromInline var head: UInt32 = 0
        @usableFromInline var tail: UInt32 = 0
        /// The height of the head, a leaf of the tournament; infinite where there is none.
        @usableFromInline var height = Float.infinity
        /// The node of the tournament that has the number of this queue, the lesser of nodes 2*i* and 2*i* + 1. Node 1
        /// is the root, and the leaves follow after as many nodes as there are queues.
        @usableFromInline var node = Float.infinity
        @inlinable init() {}
    }

    @usableFromInline var queues: UnsafeMutablePointer<Queue>?
    /// The first code of the window, and its length: 0 or a power of two.
    @usableFromInline var firstCode: Int32 = 0
    @usableFromInline var capacity: Int32 = 0
    /// The height of the least head; infinite when all queues are empty.
    @usableFromInline private(set) var leastHeight = Float.infinity
    /// The queue of the least head; less than 0 where it is to be found anew.
    @usableFromInline var leastQueue: Int32 = -1

    @inlinable
    init() {}

    /// The slot of least height; 0 if there is none.
    @inlinable
    var least: UInt32 {
        mutating get {
            guard leastHeight < .infinity else { return 0 }
            if leastQueue < 0 { findLeastQueue() }
            return queues.unsafelyUnwrapped[Int(leastQueue)].head
        }
    }

    /// The slot of least height, if its queue has been found; else 0.
    @inlinable
    @inline(always)
    var knownLeast: UInt32 { leastQueue < 0 ? 0 : queues.unsafelyUnwrapped[Int(leastQueue)].head }

    /// The height at `node`, which is a leaf from ``capacity`` on.
    @inlinable
    @inline(always)
    func height(of node: Int) -> Float {
        let queues = queues.unsafelyUnwrapped
        return node < Int(capacity) ? queues[node].node : queues[node &- Int(capacity)].height
    }

    @inlinable
    mutating func findLeastQueue() {
        var node = 1
        while node < Int(capacity) {
            node &*= 2
            // Where both are equal, the lesser code wins.
            if height(of: node &+ 1) < height(of: node) { node &+= 1 }
        }
        leastQueue = Int32(truncatingIfNeeded: node) &- capacity
    }

    /// Appends `slot`, whose stay and height are set, to its queue: no lower than those before it. By the numbers it
    /// never is, but heights are rounded, and to another step after a rebasing than before.
    @inlinable
    mutating func append(_ slot: UInt32, in slab: SlabView) {
        let meta = slab[slot]
        let code = Int32(bitPattern: meta.pointee.info.stay.rawValue)
        if UInt32(bitPattern: code &- firstCode) >= UInt32(bitPattern: capacity) { widen(toInclude: code) }
        let index = Int(code &- firstCode)
        let queue = queues.unsafelyUnwrapped + index
        let tail = queue.pointee.tail
        meta.pointee.next = 0
        meta.pointee.previous = tail
        queue.pointee.tail = slot
        if tail == 0 {
            queue.pointee.head = slot
            setHead(of: index, height: meta.pointee.height)
        } else {
            let last = slab[tail]
            last.pointee.next = slot
            if last.pointee.height > meta.pointee.height { meta.pointee.height = last.pointee.height }
        }
    }

    /// Takes `slot` out of its queue.
    @inlinable
    mutating func unlink(_ slot: UInt32, in slab: SlabView) {
        let meta = slab[slot]
        let (previous, next) = (meta.pointee.previous, meta.pointee.next)
        let index = Int(Int32(bitPattern: meta.pointee.info.stay.rawValue) &- firstCode)
        let queue = queues.unsafelyUnwrapped + index
        if next == 0 { queue.pointee.tail = previous } else { slab[next].pointee.previous = previous }
        if previous != 0 {
            slab[previous].pointee.next = next
        } else {
            queue.pointee.head = next
            setHead(of: index, height: next == 0 ? .infinity : slab[next].pointee.height)
            // Who leaves at the head is a victim as a rule, and so will the next one be: by then it has come from
            // memory.
            if next != 0 { prefetch(slab[slab[next].pointee.next]) }
        }
    }

    /// Moves `slot` to the end of its queue, at `height`. Not by ``unlink(_:in:)`` and ``append(_:in:)``, which may
    /// meet an empty queue: most hits on entries in order of use come here.
    @inlinable
    @inline(always)
    mutating func moveToEnd(_ slot: UInt32, height: Float, in slab: SlabView) {
        let meta = slab[slot]
        let (previous, next) = (meta.pointee.previous, meta.pointee.next)
        let index = Int(Int32(bitPattern: meta.pointee.info.stay.rawValue) &- firstCode)
        if next == 0 {
            if previous == 0 {
                meta.pointee.height = height
                setHead(of: index, height: height)
            } else {
                meta.pointee.height = max(height, meta.pointee.height)
            }
            return
        }
        let queue = queues.unsafelyUnwrapped + index
        let tail = queue.pointee.tail
        meta.pointee.height = max(height, slab[tail].pointee.height)
        meta.pointee.next = 0
        meta.pointee.previous = tail
        queue.pointee.tail = slot
        slab[tail].pointee.next = slot
        slab[next].pointee.previous = previous
        if previous != 0 {
            slab[previous].pointee.next = next
        } else {
            queue.pointee.head = next
            setHead(of: index, height: slab[next].pointee.height)
        }
    }

    /// Notes the height of a queue's new head. Mostly it is that of the old one: what was enqueued one after the other
    /// has one height as a rule. Then nothing is written that another processor would have to fetch.
    @inlinable
    @inline(always)
    mutating func setHead(of index: Int, height: Float) {
        if queues.unsafelyUnwrapped[index].height != height { play(index, height) }
    }

    /// Plays the games of a queue whose head has another height, up to the first whose winner stays as high.
    @inlinable
    @inline(never)
    mutating func play(_ index: Int, _ height: Float) {
        let queues = queues.unsafelyUnwrapped
        queues[index].height = height
        leastQueue = -1
        var node = index &+ Int(capacity)
        var winner = height
        while node > 1 {
            winner = min(winner, self.height(of: node ^ 1))
            node &>>= 1
            if queues[node].node == winner { return }
            queues[node].node = winner
        }
        leastHeight = winner
    }

    /// Subtracts `delta` from the heights of all heads; the caller does so for the entries.
    @usableFromInline
    mutating func lower(by delta: Float) {
        for index in 0..<Int(capacity) {
            queues![index].height -= delta
            queues![index].node -= delta
        }
        leastHeight -= delta
    }

    /// Notes the heights of all heads anew.
    @usableFromInline
    mutating func noteHeads(in slab: SlabView) {
        for index in 0..<Int(capacity) where queues![index].head != 0 {
            setHead(of: index, height: slab[queues![index].head].pointee.height)
        }
    }

    /// Makes the window include `code`.
    @usableFromInline
    mutating func widen(toInclude code: Int32) {
        // In order of use there is one code, and a tree of one leaf.
        var (first, last, count) = (code, code, Int32(1))
        if capacity > 0 {
            let (firstHeld, lastHeld) = (firstCode & ~15, (firstCode + capacity - 1) | 15)
            first = Swift.min(code & ~15, Swift.max(firstHeld, Int32(StayCode.least.rawValue) & ~15))
            last = Swift.max(code | 15, Swift.min(lastHeld, Int32(StayCode.greatest.rawValue) | 15))
            count = 16
        }
        while count < last - first + 1 { count *= 2 }
        if capacity > 0, code < firstCode { first = last - count + 1 }
        let memory = AlignedMemory.allocate(Int(count) * MemoryLayout<Queue>.stride)
        let widened = memory.bindMemory(to: Queue.self, capacity: Int(count))
        widened.initialize(repeating: Queue(), count: Int(count))
        for index in 0..<Int(capacity) where queues![index].head != 0 {
            widened[Int(firstCode - first) + index] = queues![index]
        }
        deallocate()
        (queues, firstCode, capacity, leastQueue) = (widened, first, count, -1)
        for node in stride(from: Int(count) - 1, to: 0, by: -1) {
            widened[node].node = Swift.min(height(of: 2 * node), height(of: 2 * node + 1))
        }
    }

    /// Forgets all entries; keeps the window.
    @usableFromInline
    mutating func removeAll() {
        queues?.update(repeating: Queue(), count: Int(capacity))
        (leastHeight, leastQueue) = (.infinity, -1)
    }

    /// Frees the window.
    @usableFromInline
    func deallocate() {
        guard let queues else { return }
        AlignedMemory.deallocate(UnsafeMutableRawPointer(queues), Int(capacity) * MemoryLayout<Queue>.stride)
    }

    /// Calls `body` with the first slot of each queue that has any.
    @usableFromInline
    func forEachHead(_ body: (UInt32) -> Void) {
        for index in 0..<Int(capacity) where queues![index].head != 0 { body(queues![index].head) }
    }
}
