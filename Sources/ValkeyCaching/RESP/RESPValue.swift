//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
/// A value of RESP3, the protocol of Valkey and Redis, as far as a cache needs to tell values apart.
public enum RESPValue: Sendable, Hashable {
    /// A string of bytes: blob, simple and verbatim strings, and big numbers.
    case bytes([UInt8])
    /// A whole number.
    case integer(Int64)
    /// A number with a fraction.
    case double(Double)
    /// True or false.
    case boolean(Bool)
    /// No value.
    case null
    /// The server's refusal, in its own words.
    case error(String)
    /// Values one after the other: arrays and sets.
    case array([RESPValue])
    /// Keys and values in turn.
    case map([RESPValue])
    /// What the server sends without being asked.
    case push([RESPValue])

    /// The bytes of a string, as text; nil for other values.
    public var text: String? {
        if case .bytes(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    /// The value beside `key` in a map, or in an array of keys and values in turn.
    public subscript(key: String) -> RESPValue? {
        switch self {
        case .map(let items), .array(let items):
            stride(from: 0, to: items.count - 1, by: 2).first { items[$0].text == key }.map { items[$0 + 1] }
        default: nil
        }
    }
}

/// Why bytes are no RESP3.
public enum RESPError: Error, Sendable, Hashable {
    /// A byte that begins no value.
    case unknownType(UInt8)
    /// A number or a length that is none.
    case invalidNumber
    /// A line or a string does not end where it should.
    case unterminated
    /// More bytes, or a deeper nesting, than a reply to a cache can have.
    case tooLarge
}

extension RESPError: CustomStringConvertible {
    /// What went wrong, in a sentence.
    public var description: String {
        switch self {
        case .unknownType(let byte): "The server sent a value of the unknown type \(byte)."
        case .invalidNumber: "The server sent a number that cannot be read."
        case .unterminated: "The server sent a string without its end."
        case .tooLarge: "The server sent a reply that is larger than a cache can use."
        }
    }
}
#endif
