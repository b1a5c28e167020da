//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
/// Bytes that the system may take back when memory runs short, and that never lie about it.
///
/// While nobody accesses them the bytes are *volatile*: the kernel frees their pages by itself, at once and without
/// a callback, before it frees memory that is needed. Every access either sees the bytes that were put in, or says
/// that they are gone:
///
/// ```swift
/// let thumbnail = PurgeableBytes(copying: encoded)
/// if let bytes = thumbnail.copyBytes() { draw(bytes) } else { encodeAgain() }
/// ```
///
/// What is gone stays gone; make a new value. ``copyBytes()`` and ``read(_:into:)`` copy without any system call and
/// leave the bytes volatile. ``withBytes(_:)`` lends them out without a copy and keeps them in place meanwhile.
/// ``beginContentAccess()`` and ``endContentAccess()`` keep them for longer.
///
/// Values of a page or more (4 KiB on x86-64) live in pages of their own. Smaller ones work the same way but live in
/// allocated memory, which only ``discardContentIfPossible()`` frees; many small values belong in a `PurgeableCache`.
/// Where the kernel refuses to take pages back (locked memory, old kernels) all values are such ordinary memory.
///
/// A child of `fork(2)` sees every value of its parent that lives in pages of its own as gone.
///
/// - Note: Memory that the kernel may take is still counted in the resident size of the process.
public final class PurgeableBytes: DiscardableContent, Sendable {
    @usableFromInline let extent: Extent
    /// The extent's address, here too: a copy then waits for no second line of memory before it begins.
    // Safe: constant; who may touch the bytes is the extent's business.
    @usableFromInline nonisolated(unsafe) let base: UnsafeMutableRawPointer

    /// The number of bytes. The same before and after they are gone.
    public let byteCount: Int

    /// Copies `bytes`. The copy is volatile at once.
    ///
    /// Traps if there is no memory or address space left. About 0.3 ms a mebibyte, most of it for fresh pages.
    public init(copying bytes: RawSpan) {
        extent = Extent(byteCount: bytes.byteCount, pool: .shared, sharedWithChildren: false)
        base = extent.base
        byteCount = bytes.byteCount
        bytes.withUnsafeBytes { extent.fill(with: $0) }
    }

    /// Copies a collection of bytes. The copy is volatile at once.
    ///
    /// Arrays and other contiguous collections are copied as a whole. Traps if there is no memory or address space
    /// left. O(*n*).
    public convenience init(copying bytes: some Collection<UInt8>) {
        self.init(copying: bytes, pool: .shared)
    }

    /// Makes `byteCount` bytes and has `body` write them. They are zero before and volatile afterwards.
    ///
    /// If `body` throws, nothing is left behind. Traps if `byteCount` is negative, or if there is no memory or address
    /// space left.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes, 0 included.
    ///   - body: Writes the bytes. Its buffer must not be used after it returns.
    public convenience init<E>(
        byteCount: Int,
        initializingWith body: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        try self.init(byteCount: byteCount, pool: .shared, initializingWith: body)
    }

    /// The same in a pool that tests choose.
    package init<E>(
        byteCount: Int,
        pool: PurgeablePool,
        initializingWith body: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        let extent = Extent(byteCount: byteCount, pool: pool, sharedWithChildren: false)
        do throws(E) {
            try body(UnsafeMutableRawBufferPointer(start: extent.base, count: byteCount))
        } catch {
            extent.abandon()
            throw error
        }
        extent.publish()
        self.extent = extent
        base = extent.base
        self.byteCount = byteCount
    }

    package convenience init(copying bytes: some Collection<UInt8>, pool: PurgeablePool) {
        let count = bytes.count
        self.init(byteCount: count, pool: pool) { target in
            let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { source in
                precondition(source.count == count, "a collection whose count changes")
                target.copyMemory(from: UnsafeRawBufferPointer(source))
            }
            if isContiguous == nil { target.copyBytes(from: bytes) }
        }
    }

    /// Copies `bytes`, a page of them at least; nil where the system has no pages, instead of allocated memory.
    package init?(pagesFor bytes: UnsafeRawBufferPointer, pool: PurgeablePool) {
        guard let extent = Extent(pagesFor: bytes.count, pool: pool) else { return nil }
        extent.fill(with: bytes)
        self.extent = extent
        base = extent.base
        byteCount = bytes.count
    }

    deinit { extent.abandon() }

    // MARK: DiscardableContent

    /// Keeps the bytes from being taken until a matching ``endContentAccess()``, or answers `false` if they are gone.
    /// Calls nest; 1,048,575 accesses may be open at once, and one more ends the process.
    ///
    /// A value that was accessed lately costs some nanoseconds; one that the kernel was free to take about 0.1 µs a
    /// page.
    @discardableResult @inlinable
    public func beginContentAccess() -> Bool { extent.pin(borrowing: false) }

    /// Ends an access. After the last one the bytes may be taken again. Traps without a matching
    /// ``beginContentAccess()``.
    @inlinable
    public func endContentAccess() { extent.unpin(borrowing: false) }

    /// Frees the bytes now if nobody accesses them.
    public func discardContentIfPossible() { extent.discardIfUnused() }

    /// Whether the bytes are gone. `false` is a snapshot: volatile bytes may go in the next moment.
    ///
    /// Asks the kernel (`mincore(2)`, about 1 ns a page and a system call) without touching the bytes.
    public var isContentDiscarded: Bool { extent.isDiscarded() }

    // MARK: For caches

    /// Whether the bytes take memory that only eviction frees.
    package var countsAsOrdinaryMemory: Bool { extent.loadState().isOrdinary }

    /// The bytes as they are now, unproved: what a reader sees that ignores all checks. For the stress controls.
    package var uncheckedBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: byteCount)
    }
}
