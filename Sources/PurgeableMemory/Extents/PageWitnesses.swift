//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
public import CMemoryShims
public import Synchronization

/// For each page of an extent, where a word stands that is not zero.
///
/// A page that the kernel took reads as zero from then on. So a nonzero word proves that its page is still there;
/// the content itself serves as proof and need not be changed. Two bytes a page (0.05 %) say which word; a page
/// without any needs no proof, because lost or not it reads the same.
///
/// Four pages fit into the structure itself, larger extents have a table. Entries are atomic: an optimistic reader
/// may look while a mutation renews them, and is then turned away by the generation.
@usableFromInline
struct PageWitnesses: ~Copyable, @unchecked Sendable {
    // Sendable: entries are read and written atomically; the table's address is constant.

    @usableFromInline static var none: UInt16 { @inlinable get { .max } }
    private static let inlineCount = 4
    @usableFromInline static var wordSize: Int { @inlinable get { 8 } }

    @usableFromInline let inlineEntries = Atomic<UInt64>(.max)
    @usableFromInline let table: UnsafeMutablePointer<UInt16>?
    private let pageCount: Int

    /// The page size as a power of two; here, because reading a global costs more than the rest of a check.
    @usableFromInline let pageShift: Int

    /// No page has a witness yet.
    init(pageCount: Int) {
        self.pageCount = pageCount
        pageShift = PageSize.shift
        if pageCount > Self.inlineCount {
            table = .allocate(capacity: pageCount)
            table!.initialize(repeating: Self.none, count: pageCount)
        } else {
            table = nil
        }
    }

    deinit { table?.deallocate() }

    @inlinable @inline(__always)
    func entry(_ page: Int) -> UInt16 {
        if let table { return cms_load_relaxed_u16(table + page) }
        return UInt16(
            truncatingIfNeeded: inlineEntries.load(ordering: .relaxed) &>> UInt64(truncatingIfNeeded: page &* 16)
        )
    }

    private func setEntry(_ page: Int, _ value: UInt16) {
        if let table { return cms_store_relaxed_u16(table + page, value) }
        let shift = UInt64(page * 16)
        let others = inlineEntries.load(ordering: .relaxed) & ~(0xFFFF << shift)
        inlineEntries.store(others | UInt64(value) << shift, ordering: .relaxed)
    }

    /// The witness word of a page, or nil for a page of zeros.
    @inlinable @inline(__always)
    func word(_ page: Int, of base: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        let entry = entry(page)
        return entry == Self.none ? nil : base + (page &<< pageShift &+ Int(entry) &* Self.wordSize)
    }

    /// Makes every entry true again after the bytes may have changed. Pages must be pinned, and nobody else writing.
    ///
    /// An entry whose word is still nonzero stays: one load for a page that was not touched, or not there.
    func renew(_ base: UnsafeMutableRawPointer) {
        for page in 0..<pageCount {
            if let word = word(page, of: base), cms_peek_u64(word) != 0 { continue }
            setEntry(page, Self.search(base + page * PageSize.base))
        }
    }

    private static func search(_ page: UnsafeMutableRawPointer) -> UInt16 {
        let words = page.assumingMemoryBound(to: UInt64.self)
        for index in 0..<PageSize.base / wordSize where words[index] != 0 { return UInt16(index) }
        return none
    }

    /// Dirties every page by a read-modify-write of its witness; true if all of them were there. From then on the
    /// kernel keeps them. Pages of zeros are left alone: they read as zeros in any case.
    func pin(_ base: UnsafeMutableRawPointer) -> Bool {
        for page in 0..<pageCount {
            if let word = word(page, of: base), cms_load_by_writing_u64(word) == 0 { return false }
        }
        return true
    }

    /// Whether the given pages were there until now. Plain loads: they let the kernel see the pages as used.
    @inline(__always)
    func areAlive(_ base: UnsafeMutableRawPointer, pages: Range<Int>) -> Bool {
        for page in pages {
            if let word = word(page, of: base), cms_peek_u64(word) == 0 { return false }
        }
        return true
    }

    /// Whether the census (one byte a page) shows a page missing that had something to lose.
    func isAnyMissing(_ residency: UnsafeBufferPointer<UInt8>) -> Bool {
        for page in 0..<pageCount where residency[page] & 1 == 0 && entry(page) != Self.none { return true }
        return false
    }
}
