//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// Raw memory on cache-line borders that grows without doubling what is resident.
///
/// From ``mappedSize`` on it consists of mappings of its own: they grow by moving page-table entries instead of bytes,
/// and their fresh pages take no memory until they are written.
@usableFromInline
package enum AlignedMemory {
    /// A cache line of the processors that this runs on.
    @usableFromInline package static let alignment = 64

    /// Where blocks become mappings: two pages, and at least 8 KiB. What a shard outgrows would stay with the
    /// allocator: from 128 KiB on, glibc's own threshold, a million entries of 34.7 bytes took 38.5 in 128 shards, and
    /// from 32 KiB on 36.2. Shards that grow alike lie side by side, so that the kernel keeps few mappings: 160 more
    /// for that million.
    private static let mappedSize = max(8 << 10, 2 * cms_page_size())

    /// Whether a block of `byteCount` bytes is a mapping, whose pages are zeros until they are written.
    @usableFromInline static func isMapped(_ byteCount: Int) -> Bool { byteCount >= mappedSize }

    /// `byteCount` bytes; contents undefined.
    @usableFromInline
    package static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
        if byteCount >= mappedSize {
            var error: Int32 = 0
            guard let memory = cms_map_anonymous(byteCount, &error) else { fatalError("out of memory: errno \(error)") }
            return memory
        }
        return .allocate(byteCount: byteCount, alignment: alignment)
    }

    /// `byteCount` bytes of zeros. Mappings come with them, a page at a time as it is touched.
    @usableFromInline
    package static func allocateZeros(_ byteCount: Int) -> UnsafeMutableRawPointer {
        let memory = allocate(byteCount)
        if byteCount < mappedSize { memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount) }
        return memory
    }

    /// The first `byteCount` bytes of `memory` in a block of `newByteCount`; `memory` itself is gone.
    @usableFromInline
    package static func grow(
        _ memory: UnsafeMutableRawPointer,
        from byteCount: Int,
        to newByteCount: Int
    ) -> UnsafeMutableRawPointer {
        if byteCount >= mappedSize, let moved = cms_remap(memory, byteCount, newByteCount) { return moved }
        let grown = allocate(newByteCount)
        grown.copyMemory(from: memory, byteCount: Swift.min(byteCount, newByteCount))
        deallocate(memory, byteCount)
        return grown
    }

    /// Moves the pages of a mapping of `byteCount` bytes into one of `newByteCount` and leaves zeros where they were;
    /// nil where the block is no mapping or the kernel moves no pages that way.
    static func moveAndGrow(
        _ memory: UnsafeMutableRawPointer,
        from byteCount: Int,
        to newByteCount: Int
    ) -> UnsafeMutableRawPointer? {
        guard byteCount >= mappedSize else { return nil }
        let pages = (byteCount + cms_page_size() - 1) & ~(cms_page_size() - 1)
        guard let moved = cms_move_pages(memory, pages) else { return nil }
        // Nobody knows the new place yet, so it may move once more; if the kernel has too many mappings for that, its
        // bytes may.
        return grow(moved, from: pages, to: newByteCount)
    }

    /// Puts zeros in the place of a block that is a mapping, which take no memory until they are written.
    static func replaceByZeros(_ memory: UnsafeMutableRawPointer, _ byteCount: Int) -> Bool {
        byteCount >= mappedSize && cms_map_zeros(memory, byteCount) == 0
    }

    /// Frees a block of `byteCount` bytes.
    @usableFromInline
    package static func deallocate(_ memory: UnsafeMutableRawPointer, _ byteCount: Int) {
        if byteCount >= mappedSize { _ = cms_unmap(memory, byteCount) } else { memory.deallocate() }
    }
}
