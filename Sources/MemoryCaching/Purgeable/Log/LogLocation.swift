//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The place of one item in the log, in one word of the index: what a lookup needs besides the key.
///
/// ```
///  63     62     61          60        51 50            33 32       16 15        0
/// |valid |large |referenced |generation  |segment         |offset / 8 |byteCount   |
/// ```
///
/// `valid` is always set, so that a free slot of an index may be the word 0. `generation` is the lower ten bits of the
/// segment's: an entry whose segment was emptied since is recognised without touching the segment. The log refuses to
/// reuse a segment a thousand times between two sweeps of the index (``SegmentLog/sweepFinished()``), so ten bits
/// cannot come round. `large` and `referenced` belong to the owner of the index.
struct LogLocation: Equatable, Sendable {
    var word: UInt64

    @inline(__always)
    init(word: UInt64) { self.word = word }

    @inline(__always)
    init(segment: Int, generation: UInt16, offset: Int, byteCount: Int) {
        word =
            1 << 63 | UInt64(generation & 0x3FF) << 51 | UInt64(segment) << 33 | UInt64(offset >> 3) << 16
            | UInt64(byteCount)
    }

    /// The longest item: 16 bits of length. Longer values get pages of their own.
    static let maximumByteCount = 0xFFFF
    /// 10 bits of generation.
    static let generationCount = 1 << 10
    /// 18 bits of segment number: 256 GiB of log.
    static let maximumSegments = 1 << 18

    static let referencedBit: UInt64 = 1 << 61
    static let largeBit: UInt64 = 1 << 62

    @inline(__always)
    var byteCount: Int { Int(truncatingIfNeeded: word & 0xFFFF) }
    @inline(__always)
    var offset: Int { Int(truncatingIfNeeded: word >> 16 & 0x1FFFF) << 3 }
    @inline(__always)
    var segment: Int { Int(truncatingIfNeeded: word >> 33 & 0x3FFFF) }
    @inline(__always)
    var generation: UInt16 { UInt16(truncatingIfNeeded: word >> 51 & 0x3FF) }
    @inline(__always)
    var isLarge: Bool { word & Self.largeBit != 0 }
    @inline(__always)
    var isReferenced: Bool { word & Self.referencedBit != 0 }
    /// The same place without the owner's mark.
    @inline(__always)
    var unreferenced: LogLocation { LogLocation(word: word & ~Self.referencedBit) }
}
