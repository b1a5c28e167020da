//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// What the log knows about one segment: 1 MiB of pages and the state around them.
///
/// ```
/// free ── take ──> active ── close, last writer leaves ──> sealed ── retire ──> resting ── grace ──> free
///                                                          (volatile, or ordinary where MADV_FREE is refused)
/// ```
///
/// `life` joins the generation with what is alive, and with whether the segment is sealed, in one word. So one exchange
/// retires a segment: it makes every index entry into the segment stale and says exactly how much that lost, once. An
/// active segment cannot be retired by mistake, because the exchange would fail.
struct Segment: ~Copyable {
    /// Where the segment's pages are; set when they are mapped, before the segment is filled. Pages that were given back
    /// are others afterwards: whoever is inside ``ReaderGate`` and finds the generation of its location reads the right
    /// ones.
    private let address: Atomic<UInt>
    let life: Atomic<UInt64>
    /// Whether the kernel may take the pages: false while active and where sealing was refused.
    let isVolatile = Atomic<Bool>(false)
    /// A ``Fill``: how far the segment is written, and by how many at the moment.
    let fill = Atomic<UInt64>(Fill.closedBit)
    /// A bit for each page known to be lost.
    let lost = FourAtomics()

    static let byteCount = 1 << 20
    static let pageCount = byteCount / ItemLayout.pageBytes

    init(base: UnsafeMutableRawPointer) {
        address = Atomic(UInt(bitPattern: base))
        life = Atomic(Life(generation: 1, items: 0, bytes: 0).word)
    }

    @inline(__always)
    var base: UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(bitPattern: address.load(ordering: .relaxed)).unsafelyUnwrapped
    }

    /// Says that the pages are at `base` from now on. Nobody fills the segment yet.
    func move(to base: UnsafeMutableRawPointer) { address.store(UInt(bitPattern: base), ordering: .relaxed) }

    @inline(__always)
    var generation: UInt16 { Life(word: life.load(ordering: .sequentiallyConsistent)).generation }

    /// Marks `page` as lost; true if that is news.
    func markLost(_ page: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(page & 63)
        return lost[page >> 6].bitwiseOr(bit, ordering: .relaxed).oldValue & bit == 0
    }

    @inline(__always)
    func isLost(_ page: Int) -> Bool { lost[page >> 6].load(ordering: .relaxed) & 1 << UInt64(page & 63) != 0 }

    var lostCount: Int {
        var count = 0
        for quarter in 0..<4 { count += lost[quarter].load(ordering: .relaxed).nonzeroBitCount }
        return count
    }

    func forgetLosses() {
        for quarter in 0..<4 { lost[quarter].store(0, ordering: .relaxed) }
    }
}

/// What the log remembers of one segment under its lock, from one refill to the next.
struct SegmentHistory {
    /// The stream that the segment is or was last filled from.
    var stream = 0
    /// How often the segment was refilled since the last finished sweep of the index began.
    var refills = 0
    /// How often of that before the present sweep began.
    var refillsBeforeSweep = 0
}

/// How far a segment is filled, by how many writers who are still inside, and whether others may come:
/// `closed1 | writers31 | cursor32`.
///
/// One exchange reserves room and enters, so that appending takes no lock: with more threads than processors a lock
/// that every insertion takes is soon held by a thread that does not run. Whoever leaves a closed segment last, or
/// closes it when nobody is inside, seals it.
struct Fill {
    var word: UInt64

    static let closedBit: UInt64 = 1 << 63
    static let writer: UInt64 = 1 << 32

    var isClosed: Bool { word & Self.closedBit != 0 }
    var cursor: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }
    /// Closed, and nobody is inside.
    var isDone: Bool { word >> 32 == 1 << 31 }
    /// One writer more, and the cursor at `end`.
    func entered(upTo end: Int) -> UInt64 { (word & ~0xFFFF_FFFF | UInt64(end)) + Self.writer }
}

/// The generation of a segment, whether it is sealed, and what is alive in it: `generation16 | sealed1 | items19 |
/// bytes28`.
///
/// A segment of 1 MiB has room for 131,072 items of no bytes, each of which takes a heading of 8.
struct Life: Equatable, Sendable {
    var word: UInt64

    static let sealedBit: UInt64 = 1 << 47

    @inline(__always)
    init(word: UInt64) { self.word = word }

    @inline(__always)
    init(generation: UInt16, items: Int, bytes: Int) {
        word = UInt64(generation) << 48 | Self.amount(items: items, bytes: bytes)
    }

    @inline(__always)
    var generation: UInt16 { UInt16(truncatingIfNeeded: word >> 48) }
    /// Set by the seal, and cleared when the segment is retired.
    @inline(__always)
    var isSealed: Bool { word & Self.sealedBit != 0 }
    @inline(__always)
    var items: Int { Int(truncatingIfNeeded: word >> 28 & 0x7_FFFF) }
    @inline(__always)
    var bytes: Int { Int(truncatingIfNeeded: word & 0xFFF_FFFF) }

    /// The word of `items` items with `bytes` bytes, to add to or take from a life.
    @inline(__always)
    static func amount(items: Int, bytes: Int) -> UInt64 { UInt64(items) << 28 | UInt64(bytes) }

    /// An empty life of the next generation, which is never 0 and is not sealed.
    var next: Life { Life(generation: generation == .max ? 1 : generation + 1, items: 0, bytes: 0) }
}
