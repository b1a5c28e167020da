//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Keeps numbers as the bytes that they have in memory: fixed-width integers, floating-point numbers, and vectors of
/// them.
///
/// It is made only for types of which every pattern of bits is a value and no bit is padding. Other types without
/// references, such as enumerations, are not safe to read from bytes that another program may have written.
///
/// Bytes are in memory's order, which is little-endian on every platform that this package is tested on.
public struct TrivialCodec<Value: BitwiseCopyable & Sendable>: CacheCodec {
    private init(unchecked: Void) {}

    /// The value's bytes in memory.
    public func encode(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    /// The value of these bytes.
    ///
    /// - Throws: ``CacheCodecError/wrongByteCount(_:expected:)``.
    public func decode(_ bytes: RawSpan) throws -> Value {
        guard bytes.byteCount == MemoryLayout<Value>.size else {
            throw CacheCodecError.wrongByteCount(bytes.byteCount, expected: MemoryLayout<Value>.size)
        }
        // Every pattern of bits is a value: the initialisers admit no other types.
        return bytes.unsafeLoadUnaligned(as: Value.self)
    }
}

extension TrivialCodec where Value: FixedWidthInteger {
    /// A codec of integers.
    public init() { self.init(unchecked: ()) }
}

extension TrivialCodec where Value == Float {
    /// A codec of 4-byte floating-point numbers.
    public init() { self.init(unchecked: ()) }
}

extension TrivialCodec where Value == Double {
    /// A codec of 8-byte floating-point numbers.
    public init() { self.init(unchecked: ()) }
}

extension TrivialCodec where Value: SIMD, Value.Scalar: BitwiseCopyable {
    /// A codec of vectors of 2, 4, 8, 16, 32 or 64 numbers; others have padding.
    public init() {
        precondition(MemoryLayout<Value>.size == Value.scalarCount * MemoryLayout<Value.Scalar>.size)
        self.init(unchecked: ())
    }
}
