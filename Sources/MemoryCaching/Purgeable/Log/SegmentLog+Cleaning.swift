//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import Synchronization

extension SegmentLog {
    /// Goes through a sealed segment and calls `item` with each word that may be the tag at the beginning of an item.
    ///
    /// Only the owner of the index knows where items begin, and how long they are: `item` answers the length of the one
    /// at that offset, which is passed over, or nil if there is none. Dead bytes are looked at word by word. Pages
    /// that are known to be lost are not touched, and those that are found lost are marked. The caller is inside
    /// ``gate``.
    ///
    /// - Returns: Where to go on, ``segmentBytes`` at the end; nil if the segment is no longer what it was.
    func scan(
        _ number: Int,
        generation: UInt16,
        from start: Int,
        byteCount: Int,
        _ item: (_ hash48: UInt64, _ offset: Int) -> Int?
    ) -> Int? {
        let segment = table[number]
        // Inside the gate the pages of a segment that is not retired stay where they are.
        guard segment.pointee.generation == generation else { return nil }
        let written = Fill(word: segment.pointee.fill.load(ordering: .relaxed)).cursor
        let end = min(start + byteCount, written)
        var offset = start
        while offset < end {
            let page = offset / ItemLayout.pageBytes
            let pageEnd = (page + 1) * ItemLayout.pageBytes
            if segment.pointee.isLost(page) {
                offset = pageEnd
                continue
            }
            while offset < min(pageEnd, end) {
                let word = cms_load_relaxed_u64(segment.pointee.base + offset)
                if UInt16(truncatingIfNeeded: word >> 48) == generation,
                    let count = item(word & 0xFFFF_FFFF_FFFF, offset)
                {
                    offset = ItemLayout.end(start: offset, byteCount: count)
                } else {
                    offset += 8
                }
            }
            // Every written page begins with a tag. A page that was looked at after its loss seems present from now on.
            if cms_load_acquire_u64(segment.pointee.base + page * ItemLayout.pageBytes) == 0,
                segment.pointee.generation == generation, segment.pointee.markLost(page)
            {
                losses.wrappingAdd(1, ordering: .relaxed)
            }
        }
        let life = Life(word: segment.pointee.life.load(ordering: .sequentiallyConsistent))
        guard life.isSealed, life.generation == generation else { return nil }
        return offset >= written ? Self.segmentBytes : offset
    }
}
