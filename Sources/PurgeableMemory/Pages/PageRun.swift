//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// Sizes of pages, in bytes.
package enum PageSize {
    /// The base page of the running machine: 4 KiB on x86-64, up to 64 KiB on ARM64.
    package static let base = Int(cms_page_size())

    /// The base page as a power of two.
    static let shift = base.trailingZeroBitCount

    /// The page that one entry of the middle page table maps on x86-64 and on ARM64 with 4 KiB base pages.
    static let huge = 2 << 20

    /// `byteCount` rounded up to whole base pages.
    package static func roundedUp(_ byteCount: Int) -> Int { (byteCount + base - 1) & ~(base - 1) }
}

/// Whole pages, contiguous and zero when handed out, out of a ``PageArena``.
///
/// A run is a claim, not an owner: whoever holds it gives it back to its arena exactly once.
package struct PageRun: @unchecked Sendable {
    // Sendable: an address and two numbers; who may touch the bytes is the holder's business.

    /// The first byte, aligned to the arena's unit.
    package let base: UnsafeMutableRawPointer

    /// The length, a multiple of the arena's unit.
    let byteCount: Int

    /// The first unit in the arena's numbering, or ``alone``.
    let firstUnit: UInt32

    /// Marks a run with a mapping of its own.
    static let alone = UInt32.max

    /// The bytes of the run.
    var bytes: UnsafeMutableRawBufferPointer { .init(start: base, count: byteCount) }
}
