//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import PurgeableMemory
internal import Synchronization

extension SegmentLog {
    /// What a read found.
    enum ReadResult: Sendable {
        case copied
        /// The kernel took a page of it.
        case purged
        /// The segment has been emptied since; it has been accounted for.
        case stale
    }

    /// Copies the item at `location`, whose key has the hash `hash48`, to `destination`. The caller is inside
    /// ``gate`` since before it found the location. No system call, no lock, the pages stay volatile.
    @inline(__always)
    func read(
        _ location: LogLocation,
        hash48: UInt64,
        into destination: UnsafeMutableRawPointer
    ) -> ReadResult {
        let segment = table[location.segment]
        let generation = segment.pointee.generation
        guard generation & 0x3FF == location.generation else { return .stale }
        let copied = ItemCopy.read(
            destination,
            byteCount: location.byteCount,
            tag: ItemLayout.tag(generation: generation, hash48: hash48),
            from: segment.pointee.base,
            offset: location.offset
        )
        // The generation once more, because where discarding is refused a retired segment is overwritten instead.
        if copied, segment.pointee.generation == generation { return .copied }
        return lost(location, hash48: hash48, generation: generation)
    }

    /// Fetches the item's first line, the next one and its last into the cache, ahead of ``read(_:hash48:into:)``: all
    /// of an item of 100 bytes, five in eight of which lie in three lines.
    @inline(__always)
    func prefetch(_ location: LogLocation) {
        let place = table[location.segment].pointee.base + location.offset
        cms_prefetch(place)
        cms_prefetch(place + 64)
        cms_prefetch(place + (ItemLayout.tagBytes &+ location.byteCount &- 1))
    }

    /// Notes which pages are gone, since from now on they may look present to a census.
    private func lost(_ location: LogLocation, hash48: UInt64, generation: UInt16) -> ReadResult {
        let segment = table[location.segment]
        guard segment.pointee.generation == generation else { return .stale }
        let tag = ItemLayout.tag(generation: generation, hash48: hash48)
        var part = location.offset
        var done = 0
        repeat {
            // The reader is inside the gate, so the segment cannot have been refilled: a mark set here after a
            // retirement is wiped by the refill.
            if cms_load_relaxed_u64(segment.pointee.base + part) != tag {
                if segment.pointee.markLost(part / ItemLayout.pageBytes) { losses.wrappingAdd(1, ordering: .relaxed) }
            }
            let count = min(location.byteCount - done, ItemLayout.room(at: part))
            done += count
            part += ItemLayout.tagBytes + count
        } while done < location.byteCount
        return .purged
    }

    /// Whether the item's segment has been emptied since. No page is touched.
    @inline(__always)
    func isStale(_ location: LogLocation) -> Bool {
        table[location.segment].pointee.generation & 0x3FF != location.generation
    }

    /// Whether one of the item's pages is known to be lost. No page is touched.
    @inline(__always)
    func isKnownLost(_ location: LogLocation) -> Bool {
        let segment = table[location.segment]
        for page in ItemLayout.pages(start: location.offset, byteCount: location.byteCount)
        where segment.pointee.isLost(page) {
            return true
        }
        return false
    }

    /// Whether the item is gone, as mincore(2) and earlier reads know: no page is touched.
    func isLost(_ location: LogLocation) -> Bool { isStale(location) || hasLostPage(location) }

    /// Whether the kernel has taken one of the pages at `location`, whatever lies there by now.
    func hasLostPage(_ location: LogLocation) -> Bool {
        if isKnownLost(location) { return true }
        let segment = table[location.segment]
        guard segment.pointee.isVolatile.load(ordering: .relaxed) else { return false }
        let pages = ItemLayout.pages(start: location.offset, byteCount: location.byteCount)
        let first = pages.lowerBound * ItemLayout.pageBytes & ~(PageSize.base - 1)
        let byteCount = PageSize.roundedUp((pages.upperBound + 1) * ItemLayout.pageBytes) - first
        let count = byteCount / PageSize.base
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { residency in
            arena.system.residency(segment.pointee.base + first, byteCount, residency.baseAddress!) == 0
                && residency.prefix(count).contains { $0 & 1 == 0 }
        }
    }
}
