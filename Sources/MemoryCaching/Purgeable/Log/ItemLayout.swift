//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Where the bytes of one item lie in a segment: pure arithmetic, no memory touched.
///
/// An item is one *part* for every 4 KiB page it reaches into, and each part begins with the item's tag:
///
/// ```
///  page n            page n+1          page n+2
/// |....[tag|bytes...|[tag|bytes.......|[tag|bytes]....|
/// ```
///
/// So every page that holds bytes of the item also holds a word that is never zero, and a page that the kernel took
/// shows: its tag reads as zero. No witness table is kept beside the item, and content that is all zeros needs no
/// exception. An item of at most 512 bytes stays within one page, so that it has one tag and lives or dies whole.
enum ItemLayout {
    /// The grain at which a page may vanish. Where pages are larger (16 or 64 KiB on some arm64 kernels) they are a
    /// multiple of this, and a tag per 4 KiB is still at least one per page.
    static let pageBytes = 4096
    /// Bytes of a tag: generation in the upper 16 bits, hash of the key in the lower 48.
    static let tagBytes = 8
    /// Items up to this, tag included, do not straddle pages: at most 1/8 page is lost to rounding, and for 100-byte
    /// values it is 1.6 bytes an item. Were it half a page, a value of 1,024 bytes would take 1,395 instead of 1,061.
    static let straddleFreeBytes = 512
    /// A longer item starts on the next page rather than with a first part shorter than this: one cache line.
    static let leastFirstPart = 64

    /// Bytes that a part starting at `offset` can hold behind its tag.
    @inline(__always)
    static func room(at offset: Int) -> Int { pageBytes - (offset & (pageBytes - 1)) - tagBytes }

    /// The first offset at or after `offset` (a multiple of 8) where an item of `byteCount` bytes may begin.
    @inline(__always)
    static func start(from offset: Int, byteCount: Int) -> Int {
        let room = room(at: offset)
        let fits = byteCount + tagBytes <= straddleFreeBytes ? byteCount <= room : leastFirstPart <= room
        return fits ? offset : (offset + pageBytes - 1) & ~(pageBytes - 1)
    }

    /// The offset behind an item of `byteCount` bytes that begins at `start`, rounded up to a multiple of 8.
    @inline(__always)
    static func end(start: Int, byteCount: Int) -> Int {
        let first = room(at: start)
        if byteCount <= first { return start + tagBytes + (byteCount + 7) & ~7 }
        let rest = byteCount - first
        let wholePages = (rest - 1) / (pageBytes - tagBytes)
        let last = rest - wholePages * (pageBytes - tagBytes)
        return start + tagBytes + first + wholePages * pageBytes + tagBytes + (last + 7) & ~7
    }

    /// The pages, counted from the segment's start, that an item reaches into.
    @inline(__always)
    static func pages(start: Int, byteCount: Int) -> ClosedRange<Int> {
        start / pageBytes...(end(start: start, byteCount: byteCount) - 1) / pageBytes
    }

    /// The tag of an item: never zero, because a generation never is.
    @inline(__always)
    static func tag(generation: UInt16, hash48: UInt64) -> UInt64 {
        UInt64(generation) << 48 | hash48 & 0xFFFF_FFFF_FFFF
    }
}
