//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Keeps bytes as they are.
public struct BytesCodec: CacheCodec {
    /// A codec; it has no state.
    public init() {}

    /// The same bytes.
    public func encode(_ value: [UInt8]) -> [UInt8] { value }

    /// The same bytes, copied.
    public func decode(_ bytes: RawSpan) -> [UInt8] {
        bytes.withUnsafeBytes { Array($0) }
    }
}

/// Keeps strings as UTF-8.
public struct StringCodec: CacheCodec {
    /// A codec; it has no state.
    public init() {}

    /// The string's UTF-8.
    public func encode(_ value: String) -> [UInt8] { Array(value.utf8) }

    /// The string of these UTF-8 bytes.
    ///
    /// - Throws: ``CacheCodecError/invalidUTF8``; nothing is repaired.
    public func decode(_ bytes: RawSpan) throws -> String {
        guard let string = bytes.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw CacheCodecError.invalidUTF8
        }
        return string
    }
}

extension CacheCodec where Self == BytesCodec {
    /// Keeps bytes as they are.
    public static var bytes: BytesCodec { BytesCodec() }
}

extension CacheCodec where Self == StringCodec {
    /// Keeps strings as UTF-8.
    public static var string: StringCodec { StringCodec() }
}
