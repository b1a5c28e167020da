//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Converts values to bytes and back, for caches that keep bytes: a remote tier, or pages that the kernel may reclaim.
///
/// `decode` must accept whatever `encode` returns and answer an equal value. It must also survive every other
/// sequence of bytes by throwing an error: bytes from a remote tier may come from another version or another program.
/// Both are called on any thread, outside every lock.
///
/// ```swift
/// struct PageCodec: CacheCodec {
///     func encode(_ page: Page) throws -> [UInt8] { Array(page.html.utf8) }
///     func decode(_ bytes: RawSpan) throws -> Page { Page(html: try StringCodec().decode(bytes)) }
/// }
/// ```
public protocol CacheCodec<Value>: Sendable {
    /// What is converted.
    associatedtype Value

    /// The bytes of `value`.
    func encode(_ value: Value) throws -> [UInt8]

    /// The value that `bytes` stand for.
    ///
    /// - Throws: any error where they stand for none.
    func decode(_ bytes: RawSpan) throws -> Value
}

/// Why bytes could not be decoded by a codec of this package.
public enum CacheCodecError: Error, Sendable, Hashable {
    /// The value takes another number of bytes.
    case wrongByteCount(Int, expected: Int)
    /// The bytes are no valid UTF-8.
    case invalidUTF8
}

extension CacheCodecError: CustomStringConvertible {
    /// What went wrong, in a sentence.
    public var description: String {
        switch self {
        case .wrongByteCount(let count, let expected): "The value takes \(expected) bytes, but there are \(count)."
        case .invalidUTF8: "The bytes are no valid UTF-8."
        }
    }
}
