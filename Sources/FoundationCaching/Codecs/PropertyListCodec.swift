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
/// container; a property list cannot contain `nil` in an array.
public struct PropertyListCodec<Value: Codable>: CacheCodec {
    /// A codec.
    public init() {}

    /// The value's property list.
    public func encode(_ value: Value) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return Array(try encoder.encode(value))
    }

    /// The value of this property list.
    public func decode(_ bytes: RawSpan) throws -> Value {
        try bytes.withUnsafeBytes { try PropertyListDecoder().decode(Value.self, from: Data($0)) }
    }
}
