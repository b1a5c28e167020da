//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// A value too long for the log: pages of its own, one witness a page, held in place while it is lent out.
final class LargeValue: Sendable {
    private let pages: PurgeableBytes

    /// Copies `bytes`; nil where the system has no pages for them.
    init?(_ bytes: UnsafeRawBufferPointer, pool: PurgeablePool) {
        guard let pages = PurgeableBytes(pagesFor: bytes, pool: pool) else { return nil }
        self.pages = pages
    }

    var byteCount: Int { pages.byteCount }

    /// A copy, or nil if the kernel has taken a page. No system call.
    func copy() -> [UInt8]? { pages.copyBytes() }

    /// Lends the bytes out, held in place; nil if the kernel has taken a page.
    func withBytes<R, E>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R? { try pages.withBytes(body) }

    /// Whether the kernel has taken a page. A system call; touches no page.
    var isDiscarded: Bool { pages.isContentDiscarded }

    /// Gives the pages back now, unless somebody looks at them.
    func discard() { pages.discardContentIfPossible() }

    /// Whether only eviction frees it.
    var isOrdinary: Bool { pages.countsAsOrdinaryMemory }
}

/// A large value in its shard: the value and the entry that owns it.
struct LargeSlot {
    let value: LargeValue
    let location: LogLocation
    /// Grows with every large value that is set.
    let serial: UInt64
    let slot: Int
}
