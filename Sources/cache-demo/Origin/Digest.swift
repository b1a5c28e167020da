//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A 64-bit digest of every byte of a picture, quick enough to be taken at each hit.
///
/// Words are folded in with a multiplication and a shift each, as in wyhash's short path; it guards against lost and
/// swapped memory, not against an adversary.
enum Digest {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var digest = UInt64(truncatingIfNeeded: bytes.count) ^ 0x2545_F491_4F6C_DD1D
        var offset = 0
        while offset + 8 <= bytes.count {
            digest = fold(digest, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var tail: UInt64 = 0
        while offset < bytes.count {
            tail = tail << 8 | UInt64(bytes[offset])
            offset += 1
        }
        return fold(digest, tail)
    }

    static func of(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { of($0) } }

    @inline(__always)
    private static func fold(_ digest: UInt64, _ word: UInt64) -> UInt64 {
        let mixed = (digest ^ word) &* 0x9FB2_1C65_1E98_DF25
        return mixed ^ (mixed >> 29)
    }
}
