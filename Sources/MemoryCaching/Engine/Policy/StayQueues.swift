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
/// The leaves cover a window of codes that grows to either side as codes appear, by doubling: what is more than was
/// asked for lies where the window grew, because the next code is likely to appear there. So the window is at most four
/// times as long as the codes that have appeared lie apart.
@usableFromInline
struct StayQueues {
    @usableFromInline struct Ends {
        @usableFromInline var head: UInt32 = 0
        @usableFromInline var tail: UInt32 = 0
        @inlinable init() {}
    }

    /// Node 1 is the root, the children of node *i* are 2*i* and 2*i* + 1, the leaves begin at ``capacity``.
    @usableFromInline var tournament: UnsafeMutablePointer<Float>?
    @usableFromInline var ends: UnsafeMutablePointer<Ends>?
    /// The first code of the window, and its length: 0 or a power of two.
    @usableFromInline var firstCode: Int32 = 0
    @usableFromInline var capacity: Int32 = 0

    @inlinable
    init() {}

    /// The height of the least head; infinite when all queues are empty.
    @inlinable
    var leastHeight: Float { tournament.map { $0[1] } ?? .infinity }

    /// The slot of least height; 0 if there is none.
    @inlinable
    var least: UInt32 {
        guard let tournament, tournament[1] < .infinity else { return 0 }
        var node = 1
        while node < Int(capacity) {
            node &*= 2
            // Where both are equal, the lesser code wins.
            if tournament[node &+ 1] < tournament[node] { node &+= 1 }
        }
        return ends.unsafelyUnwrapped[node &- Int(capacity)].head
    }

    /// Appends `slot`, whose stay and height are set, to its queue.
    @inlinable
    mutating func append(_ slot: UInt32, in slab: SlabView) {
        let meta = slab[slot]
        let code = Int32(bitPattern: meta.pointee.info.stay.rawValue)
        if UInt32(bitPattern: code &- firstCode) >= UInt32(bitPattern: capacity) { widen(toInclude: code) }
        let index = Int(code &- firstCode)
        let queue = ends.unsafelyUnwrapped + index
        let tail = queue.pointee.tail
        meta.pointee.next = 0
        meta.pointee.previous = tail
        queue.pointee.tail = slot
        if tail == 0 {
            queue.pointee.head = slot
            setHead(of: index, height: meta.pointee.height)
        } else {
            slab[tail].pointee.next = slot
        }
    }

    /// Takes `slot` out of its queue.
    @inlinable
    mutating func unlink(_ slot: UInt32, in slab: SlabView) {
        let meta = slab[slot]
        let (previous, next) = (meta.pointee.previous, meta.pointee.next)
        let index = Int(Int32(bitPattern: meta.pointee.info.stay.rawValue) &- firstCode)
        let queue = ends.unsafelyUnwrapped + index
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
    func moveToEnd(_ slot: UInt32, height: Float, in slab: SlabView) {
        let meta = slab[slot]
        let (previous, next) = (meta.pointee.previous, meta.pointee.next)
        let index = Int(Int32(bitPattern: meta.pointee.info.stay.rawValue) &- firstCode)
        meta.pointee.height = height
        if next == 0 {
            if previous == 0 { setHead(of: index, height: height) }
            return
        }
        let queue = ends.unsafelyUnwrapped + index
        let tail = queue.pointee.tail
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

    /// Writes the height of a queue's new head and plays its games, up to the first that it does not change. Mostly
    /// that is the first of all: what was enqueued one after the other has one height as a rule. Then nothing is
    /// written that another processor would have to fetch.
    @inlinable
    func setHead(of index: Int, height: Float) {
        let tournament = tournament.unsafelyUnwrapped
        var node = index &+ Int(capacity)
        var winner = height
        if tournament[node] == winner { return }
        tournament[node] = winner
        while node > 1 {
            let opponent = tournament[node ^ 1]
            if opponent < winner { winner = opponent }
            node &>>= 1
            if tournament[node] == winner { return }
            tournament[node] = winner
        }
    }

    /// Subtracts `delta` from the heights of all heads; the caller does so for the entries.
    @usableFromInline
    mutating func lower(by delta: Float) {
        for node in 0..<2 * Int(capacity) { tournament![node] -= delta }
    }

    /// Makes the window include `code`.
    @usableFromInline
    mutating func widen(toInclude code: Int32) {
        var (first, last) = (code & ~15, code | 15)
        if capacity > 0 {
            first = Swift.min(first, Swift.max(firstCode, Int32(StayCode.least.rawValue) & ~15))
            last = Swift.max(last, Swift.min(firstCode + capacity - 1, Int32(StayCode.greatest.rawValue) | 15))
        }
        var count: Int32 = 16
        while count < last - first + 1 { count *= 2 }
        if capacity > 0, code < firstCode { first = last - count + 1 }
        let newEnds = UnsafeMutablePointer<Ends>.allocate(capacity: Int(count))
        newEnds.initialize(repeating: Ends(), count: Int(count))
        let tree = AlignedMemory.allocate(Int(count) * 8).bindMemory(to: Float.self, capacity: Int(count) * 2)
        tree.initialize(repeating: .infinity, count: Int(count) * 2)
        if let tournament, let ends {
            for index in 0..<Int(capacity) where ends[index].head != 0 {
                let place = Int(firstCode - first) + index
                newEnds[place] = ends[index]
                tree[Int(count) + place] = tournament[Int(capacity) + index]
            }
            for node in stride(from: Int(count) - 1, to: 0, by: -1) {
                tree[node] = Swift.min(tree[2 * node], tree[2 * node + 1])
            }
        }
        deallocate()
        tournament = tree
        ends = newEnds
        firstCode = first
        capacity = count
    }

    /// Forgets all entries; keeps the window.
    @usableFromInline
    mutating func removeAll() {
        guard let tournament, let ends else { return }
        tournament.update(repeating: .infinity, count: 2 * Int(capacity))
        ends.update(repeating: Ends(), count: Int(capacity))
    }

    /// Frees the window.
    @usableFromInline
    func deallocate() {
        guard let tournament, let ends else { return }
        AlignedMemory.deallocate(UnsafeMutableRawPointer(tournament), Int(capacity) * 8)
        ends.deallocate()
    }

    /// Calls `body` with the first slot of each queue that has any.
    @usableFromInline
    func forEachHead(_ body: (UInt32) -> Void) {
        guard let ends else { return }
        for index in 0..<Int(capacity) where ends[index].head != 0 { body(ends[index].head) }
    }
}
