//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
public import MemoryCaching

/// Keeps `Codable` values as binary property lists.
///
/// `Data` in a value is kept as it is, where JSON takes a third more bytes and the time to convert them. So this is the
/// codec for a body with a few fields beside it, such as a response. The value must encode as a keyed or an unkeyed
/// container.
///
/// Foundation writes a `nil` as the string `$null`, and reads that string as `nil` wherever an optional value can be:
/// so a string of these five characters does not come back. It cannot be decoded as a value that is not optional, nor as
/// a key of a dictionary. Of an optional in an optional, one level comes back.
public struct PropertyListCodec<Value: Codable>: CacheCodec {
    /// A codec.
    public init() {}

    /// The value's property list.
    ///
    /// - Throws: what the encoder throws; `EncodingError` for more than 512 containers inside each other, and for
    ///   strings and data that, each as often as it is in the value, take more than 64 MiB and 32 times the list.
    /// - Precondition: some thousand containers inside each other use up the stack inside of Foundation's encoder.
    public func encode(_ value: Value) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let bytes = Array(try encoder.encode(value))
        guard bytes.withUnsafeBytes({ PropertyListNesting($0)?.isDecodable == true }) else {
            let description = "nested more than 512 deep, or much too large decoded"
            let context = EncodingError.Context(codingPath: [], debugDescription: description)
            throw EncodingError.invalidValue(value, context)
        }
        return bytes
    }

    /// The value of this property list, which must be a binary one.
    ///
    /// - Throws: what the decoder throws; `DecodingError` for bytes that ``encode(_:)`` does not make.
    /// - Precondition: 512 containers inside each other take up to 1.5 MiB of stack inside of Foundation's decoder. A
    ///   thread has 8 MiB as a rule on Linux.
    public func decode(_ bytes: RawSpan) throws -> Value {
        try bytes.withUnsafeBytes { bytes in
            guard PropertyListNesting(bytes)?.isDecodable == true else {
                let context = DecodingError.Context(codingPath: [], debugDescription: "no such binary property list")
                throw DecodingError.dataCorrupted(context)
            }
            return try PropertyListDecoder().decode(Value.self, from: Data(bytes))
        }
    }
}
