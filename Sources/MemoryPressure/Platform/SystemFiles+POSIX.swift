//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

extension Platform {
    /// Bytes of a page.
    package static let pageSize = cms_page_size()

    static let environment: @Sendable (String) -> String? = { name in getenv(name).map { String(cString: $0) } }

    /// Nanoseconds of a clock that only moves forward.
    package static func monotonicNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static func read(_ path: String) -> String? {
        guard let file = KeptFile(path) else { return nil }
        return file.text()
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

/// An open file of the kernel's that is read again and again from its beginning.
///
/// The kernel renders such a file anew on each read at offset 0; keeping it open saves the path look-up (0.5 µs a
/// reading of a usage file instead of 2).
package struct KeptFile: ~Copyable {
    private let descriptor: Int32

    /// Opens the file at `path`; nil where that fails.
    package init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// The number at the beginning of the file, a decimal; nil where there is none, or reading fails.
    package borrowing func number() -> Int? {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            return Self.decimal(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// The number at `place` among the words of the file, from 0; nil where there is none, or reading fails.
    package borrowing func number(at place: Int) -> Int? {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            var words = UnsafeRawBufferPointer(rebasing: buffer[..<count])[...]
            for _ in 0..<place {
                guard let blank = words.firstIndex(of: 32) else { return nil }
                words = words[(blank + 1)...]
            }
            return Self.decimal(UnsafeRawBufferPointer(rebasing: words))
        }
    }

    /// The number after `name` and a blank at the beginning of a line; nil where there is no such line.
    package borrowing func number(after name: StaticString) -> Int? { numbers(after: name, name).0 }

    /// The numbers after two names, from one reading.
    package borrowing func numbers(after first: StaticString, _ second: StaticString) -> (Int?, Int?) {
        // memory.stat has some 2,500 bytes in version 1 and 1,500 in version 2; meminfo has 1,500.
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return (nil, nil) }
            let text = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            return (Self.number(after: first, in: text), Self.number(after: second, in: text))
        }
    }

    private static func number(after name: StaticString, in text: UnsafeRawBufferPointer) -> Int? {
        guard let base = text.baseAddress else { return nil }
        var line = 0
        while line < text.count {
            let end = memchr(base + line, 10, text.count - line).map { UnsafeRawPointer($0) - base }
            let next = end ?? text.count
            if next - line > name.utf8CodeUnitCount, memcmp(base + line, name.utf8Start, name.utf8CodeUnitCount) == 0 {
                return decimal(UnsafeRawBufferPointer(rebasing: text[(line + name.utf8CodeUnitCount)..<next]))
            }
            line = next + 1
        }
        return nil
    }

    /// The whole file as text; nil where reading fails.
    package borrowing func text() -> String? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count < 1 << 20 {
            let count = pread(descriptor, &chunk, chunk.count, off_t(bytes.count))
            if count < 0 { return nil }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A decimal after any blanks; what follows it does not matter.
    private static func decimal(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var value = 0
        var digits = 0
        for byte in bytes {
            if byte == 32 || byte == 9, digits == 0 { continue }
            guard byte >= 48, byte <= 57 else { break }
            let (product, over) = value.multipliedReportingOverflow(by: 10)
            let (sum, overAgain) = product.addingReportingOverflow(Int(byte) - 48)
            if over || overAgain { return nil }
            value = sum
            digits += 1
        }
        return digits > 0 ? value : nil
    }
}
