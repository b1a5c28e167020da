//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A window on a ``ByteSource`` from which whole records and whole lines are taken.
///
/// Bytes `start..<end` of `bytes` are waiting; the window slides when it runs short and grows only for a line longer
/// than itself.
struct ByteWindow {
    /// Enough to make system calls rare and little enough to stay in the second-level cache.
    static let chunk = 256 * 1024
    /// A line longer than this is no line of any trace.
    static let longestLine = 1024 * 1024

    private let source: ByteSource
    private var bytes = [UInt8](repeating: 0, count: ByteWindow.chunk)
    private var start = 0
    private var end = 0
    private var atEnd = false
    /// How many bytes were taken so far.
    private(set) var offset = 0

    init(_ source: ByteSource) { self.source = source }

    /// Up to `count` of the next bytes, without taking them.
    mutating func peek(_ count: Int) throws(TraceError.Reason.Failure) -> ArraySlice<UInt8> {
        while end - start < count, try fill() {}
        return bytes[start..<min(end, start + count)]
    }

    /// Takes `length` bytes and gives them to `body`; nil at the end.
    mutating func takeRecord<T>(
        length: Int,
        _ body: (UnsafeRawBufferPointer) -> T
    ) throws(TraceError.Reason.Failure) -> T? {
        while end - start < length, try fill() {}
        let available = end - start
        guard available >= length else {
            if available == 0 { return nil }
            throw .init(.truncatedRecord(bytes: available, recordLength: length))
        }
        defer {
            start += length
            offset += length
        }
        return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start..<start + length])) }
    }

    /// Takes a line, without its end (`\n` or `\r\n`); nil at the end.
    mutating func takeLine() throws(TraceError.Reason.Failure) -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            let found = bytes.withUnsafeBufferPointer { buffer in
                var index = searched
                while index < end, buffer[index] != UInt8(ascii: "\n") { index += 1 }
                return index
            }
            if found < end {
                return take(until: found, skipping: 1)
            }
            let waiting = end - start
            guard waiting <= Self.longestLine else {
                throw .init(.badLine("a line of more than \(Self.longestLine) bytes"))
            }
            guard try fill() else { return waiting == 0 ? nil : take(until: end, skipping: 0) }
            searched = start + waiting
        }
    }

    private mutating func take(until stop: Int, skipping terminator: Int) -> ArraySlice<UInt8> {
        var line = bytes[start..<stop]
        offset += stop + terminator - start
        start = stop + terminator
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line
    }

    /// Reads more; false at the end.
    private mutating func fill() throws(TraceError.Reason.Failure) -> Bool {
        if atEnd { return false }
        if start > 0 {
            bytes.withUnsafeMutableBytes { buffer in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
            }
            end -= start
            start = 0
        }
        if end == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
        let (count, failure): (Int, TraceError.Reason.Failure?) = bytes.withUnsafeMutableBytes { buffer in
            do throws(TraceError.Reason.Failure) {
                return (try source.read(into: .init(rebasing: buffer[end...])), nil)
            } catch { return (0, error) }
        }
        if let failure { throw failure }
        end += count
        atEnd = count == 0
        return count > 0
    }
}
