//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
extension PurgeableBytes {
    /// A copy of the bytes, or nil if they are gone. No pin and no system call, as fast as any copy of memory.
    public func copyBytes() -> [UInt8]? { copyBytes(in: 0..<byteCount) }

    /// A copy of the bytes in `range`, or nil if they are gone. Traps if `range` is out of bounds.
    public func copyBytes(in range: Range<Int>) -> [UInt8]? {
        var isThere = false
        let copy = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            isThere = read(range, into: UnsafeMutableRawBufferPointer(buffer))
            count = isThere ? range.count : 0
        }
        return isThere ? copy : nil
    }

    /// Copies the bytes in `range` to the beginning of `target`, or answers `false` if they are gone; then what
    /// `target` holds is meaningless. Traps if `range` is out of bounds or `target` too small.
    @inlinable
    public func read(_ range: Range<Int>, into target: UnsafeMutableRawBufferPointer) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "a range beyond the end of the bytes")
        let count = range.upperBound &- range.lowerBound
        precondition(count <= target.count, "a buffer smaller than the range")
        guard let start = target.baseAddress else { return isKnownToBeThere }
        return extent.readWithinPage(range.lowerBound, count, of: base, into: start)
            || extent.read(range, of: base, into: start)
    }

    @usableFromInline
    var isKnownToBeThere: Bool { extent.loadState().phase != .dead }

    /// The value of type `T` at `offset`, which need not be aligned, or nil if the bytes are gone. No pin and no
    /// system call. Traps if `offset` is out of bounds.
    @inlinable
    public func load<T: BitwiseCopyable>(at offset: Int, as type: T.Type) -> T? {
        precondition(offset >= 0, "a negative offset")
        return withUnsafeTemporaryAllocation(of: T.self, capacity: 1) { target in
            read(offset..<offset + MemoryLayout<T>.size, into: UnsafeMutableRawBufferPointer(target))
                ? target[0] : nil
        }
    }

    /// Lends the bytes to `body` without a copy, or answers nil without calling it if they are gone. They stay in
    /// place until `body` returns.
    ///
    /// Costs a pin: some nanoseconds for a value accessed lately, else about 0.7 µs for a page and 30 µs for a
    /// mebibyte, sealing included. To look at parts, or to copy, ``read(_:into:)`` is cheaper, and keeps the bytes'
    /// place in the kernel's order.
    @inlinable
    public func withBytes<R: ~Copyable, E>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R? {
        guard let bytes = beginBorrow() else { return nil }
        defer { endBorrow() }
        return try body(bytes.bytes)
    }

    @inlinable
    func beginBorrow() -> UnsafeRawBufferPointer? {
        extent.pin(borrowing: true) ? UnsafeRawBufferPointer(start: base, count: byteCount) : nil
    }

    @inlinable
    func endBorrow() { extent.unpin(borrowing: true) }

    /// Lends the bytes to `body` to change them, or answers nil without calling it if they are gone.
    ///
    /// Waits until other threads' ``withBytes(_:)`` and `withMutableBytes` return, and makes theirs wait. Do not access
    /// the same value from within `body`, or call this from within an access that lends its bytes: it would wait for
    /// ever. If `body` throws, what it has written stays.
    @inlinable
    public func withMutableBytes<R: ~Copyable, E>(
        _ body: (inout MutableRawSpan) throws(E) -> R
    ) throws(E) -> R? {
        guard let bytes = beginMutation() else { return nil }
        defer { endMutation() }
        var span = bytes.mutableBytes
        return try body(&span)
    }

    @usableFromInline
    func beginMutation() -> UnsafeMutableRawBufferPointer? {
        extent.beginMutation() ? UnsafeMutableRawBufferPointer(start: base, count: byteCount) : nil
    }

    @usableFromInline
    func endMutation() { extent.endMutation() }
}
