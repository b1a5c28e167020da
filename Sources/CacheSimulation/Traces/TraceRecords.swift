//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The fixed-length records of the binary formats.
enum TraceRecords {
    /// Twelve bytes: key, size.
    static func binary(_ record: UnsafeRawBufferPointer) -> TraceRequest {
        request(
            key: UInt64(littleEndian: record.loadUnaligned(as: UInt64.self)),
            size: UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        )
    }

    /// Twenty-four bytes: time, key, size, next access.
    static func oracleGeneral(_ record: UnsafeRawBufferPointer) -> TraceRequest {
        request(
            key: UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 4, as: UInt64.self)),
            size: UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        )
    }

    /// A size of 0 means that the source has none.
    private static func request(key: UInt64, size: UInt32) -> TraceRequest {
        TraceRequest(key: key, size: max(1, Int(size)))
    }
}
