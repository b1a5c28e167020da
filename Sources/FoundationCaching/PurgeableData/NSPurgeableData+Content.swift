//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation
import PurgeableMemory
import Synchronization

// The pointer work behind `NSPurgeableData`, in one place. Every path to the bytes goes through `accessedContent`.

extension NSPurgeableData {
    /// The content, if somebody accesses it; stops the process otherwise.
    final func accessedContent(_ member: StaticString = #function) -> PurgeableBuffer {
        guard buffer.accessCount > 0 else {
            fatalError(
                """
                NSPurgeableData.\(member) was used while nobody accesses the content, so that the bytes may be gone. \
                Call beginContentAccess() first, go on only if it answers true, and call endContentAccess() when done.
                """
            )
        }
        return buffer
    }

    /// The content to be resized, which moves its bytes; stops the process while a span over them is lent out.
    private func movableContent(_ member: StaticString) -> PurgeableBuffer {
        let content = accessedContent(member)
        require(
            lentSpans.load(ordering: .relaxed) == 0,
            "NSPurgeableData.\(member): the bytes cannot move while withBytes(_:) lends them; change them after it"
        )
        return content
    }

    /// Makes the content `byteCount` bytes long; new bytes are zero.
    final func resizeContent(to byteCount: Int, _ member: StaticString = #function) {
        let content = movableContent(member)
        require(byteCount >= 0, "NSPurgeableData.\(member): a length of \(byteCount) bytes is negative")
        content.resize(to: byteCount)
    }

    /// Replaces the bytes in `range` by those of `source`, which may lie within this very content.
    final func replaceContent(
        in range: Range<Int>,
        with source: UnsafeRawBufferPointer,
        _ member: StaticString = #function
    ) {
        let content = movableContent(member)
        guard !content.overlaps(source) else {
            // Growing moves the bytes from under `source`: take them aside first.
            return [UInt8](source).withUnsafeBytes { replaceContent(in: range, with: $0, member) }
        }
        let oldCount = content.byteCount
        let tail = oldCount - range.upperBound
        let newCount = range.lowerBound + source.count + tail
        if newCount > oldCount { content.resize(to: newCount) }
        let base = content.base
        if tail > 0, source.count != range.count {
            memmove(base + range.lowerBound + source.count, base + range.upperBound, tail)
        }
        if let start = source.baseAddress, source.count > 0 {
            memcpy(base + range.lowerBound, start, source.count)
        }
        if newCount < oldCount { content.resize(to: newCount) }
    }

    /// Overwrites `range` with as many bytes from `source`, or with zeros if there is none, and grows to hold them.
    final func overwriteContent(
        at range: NSRange,
        with source: UnsafeRawPointer?,
        _ member: StaticString = #function
    ) {
        let content = accessedContent(member)
        require(
            range.location >= 0 && range.length >= 0 && range.location <= content.byteCount,
            "NSPurgeableData.\(member): \(range) begins outside the \(content.byteCount) bytes"
        )
        let end = range.location + range.length
        if let source {
            let target = range.location..<Swift.min(end, content.byteCount)
            replaceContent(in: target, with: UnsafeRawBufferPointer(start: source, count: range.length), member)
        } else {
            if end > content.byteCount { resizeContent(to: end, member) }
            memset(content.base + range.location, 0, range.length)
        }
    }

    /// `range` as indices; stops the process if it does not lie within the content.
    final func checkedRange(_ range: NSRange, _ member: StaticString = #function) -> Range<Int> {
        let content = accessedContent(member)
        require(
            range.location >= 0 && range.length >= 0 && range.location <= content.byteCount
                && range.length <= content.byteCount - range.location,
            "NSPurgeableData.\(member): \(range) is not within the \(content.byteCount) bytes"
        )
        return range.location..<range.location + range.length
    }

    /// An `NSData` over the bytes, not a copy of them: for the duration of one expression.
    final func unownedContent(_ member: StaticString = #function) -> NSData {
        let content = accessedContent(member)
        return NSData(bytesNoCopy: content.base, length: content.byteCount, freeWhenDone: false)
    }

    /// What `describe` makes of the content if somebody accesses it, else what has become of it.
    ///
    /// The description has an access of its own, because the other may end at any moment.
    final func described(_ describe: () -> String) -> String {
        let isAccessed = buffer.accessCount > 0
        guard isAccessed || buffer.isContentDiscarded else { return "<NSPurgeableData: content not accessed>" }
        guard isAccessed, buffer.beginContentAccess() else { return "<NSPurgeableData: content discarded>" }
        defer { buffer.endContentAccess() }
        return describe()
    }
}

extension PurgeableBuffer {
    /// A buffer with a copy of `bytes`, accessed.
    convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(byteCount: bytes.count, capacity: bytes.count)
        if let start = bytes.baseAddress, bytes.count > 0 {
            base.copyMemory(from: start, byteCount: bytes.count)
        }
    }

    /// A buffer with a copy of `data`, accessed.
    convenience init(copying data: NSData) {
        self.init(copying: UnsafeRawBufferPointer(start: data.bytes, count: data.length))
    }

    /// Where the bytes are, even if there are none.
    var base: UnsafeMutableRawPointer { unsafeMutableBytes.baseAddress! }

    /// The bytes, while they are accessed and until the next resize.
    var unsafeBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(unsafeMutableBytes) }

    /// Whether `bytes` share memory with this buffer.
    func overlaps(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress, bytes.count > 0, byteCount > 0 else { return false }
        let own = UnsafeRawPointer(base)
        return start < own + byteCount && own < start + bytes.count
    }
}

#endif
