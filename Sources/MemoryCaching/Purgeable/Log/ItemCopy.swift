//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// The copying of items into and out of segments: the one place of the log that touches their bytes.
enum ItemCopy {
    /// Writes the parts of an item, each behind its tag.
    static func write(_ bytes: UnsafeRawBufferPointer, tag: UInt64, to base: UnsafeMutableRawPointer, offset: Int) {
        var place = base + offset
        var offset = offset
        var done = 0
        repeat {
            let count = min(bytes.count - done, ItemLayout.room(at: offset))
            if count > 0 { (place + ItemLayout.tagBytes).copyMemory(from: bytes.baseAddress! + done, byteCount: count) }
            cms_store_release_u64(place, tag)
            done += count
            place += ItemLayout.tagBytes + count
            offset += ItemLayout.tagBytes + count
        } while done < bytes.count
    }

    /// Copies an item out and says whether what was copied was the item throughout.
    ///
    /// Optimistic: copy, then look at the tags. The kernel takes a page one way only, from content to zeros, and a
    /// page that still shows its tag after the copy was there during the copy. The first look, before copying, only
    /// saves copying what is gone already.
    @inline(__always)
    static func read(
        _ destination: UnsafeMutableRawPointer,
        byteCount: Int,
        tag: UInt64,
        from base: UnsafeMutableRawPointer,
        offset: Int
    ) -> Bool {
        let place = base + offset
        guard cms_load_acquire_u64(place) == tag else { return false }
        if byteCount <= ItemLayout.room(at: offset) {
            destination.copyMemory(from: place + ItemLayout.tagBytes, byteCount: byteCount)
            cms_fence_acquire()
            return cms_load_relaxed_u64(place) == tag
        }
        return readParts(destination, byteCount: byteCount, tag: tag, from: base, offset: offset)
    }

    private static func readParts(
        _ destination: UnsafeMutableRawPointer,
        byteCount: Int,
        tag: UInt64,
        from base: UnsafeMutableRawPointer,
        offset: Int
    ) -> Bool {
        var part = offset
        var done = 0
        while done < byteCount {
            guard cms_load_acquire_u64(base + part) == tag else { return false }
            let count = min(byteCount - done, ItemLayout.room(at: part))
            (destination + done).copyMemory(from: base + part + ItemLayout.tagBytes, byteCount: count)
            done += count
            part += ItemLayout.tagBytes + count
        }
        cms_fence_acquire()
        return tagsMatch(byteCount: byteCount, tag: tag, in: base, offset: offset)
    }

    /// Whether every part of the item shows its tag.
    static func tagsMatch(byteCount: Int, tag: UInt64, in base: UnsafeMutableRawPointer, offset: Int) -> Bool {
        var part = offset
        var done = 0
        repeat {
            guard cms_load_relaxed_u64(base + part) == tag else { return false }
            let count = min(byteCount - done, ItemLayout.room(at: part))
            done += count
            part += ItemLayout.tagBytes + count
        } while done < byteCount
        return true
    }
}
