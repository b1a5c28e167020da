//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
public import MemoryCaching

/// Keeps `Codable` values as JSON.
///
/// Decoding takes microseconds for small values, so a cache that keeps JSON should hold the decoded values in front of
/// it, as a tiered cache does. JSON has one `null`: of an optional in an optional, one level comes back.
public struct JSONCodec<Value: Codable>: CacheCodec {
    /// A codec with the default settings of `JSONEncoder` and `JSONDecoder`.
    public init() {}

    /// The value's JSON, as UTF-8.
    public func encode(_ value: Value) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }

    /// The value of this JSON.
    public func decode(_ bytes: RawSpan) throws -> Value {
        try bytes.withUnsafeBytes { try JSONDecoder().decode(Value.self, from: Data($0)) }
    }
}
