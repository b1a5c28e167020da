//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CMemoryShims
import PurgeableMemory
import Synchronization
import _CacheTestSupport

@testable import MemoryCaching

extension SegmentLog {
    /// Takes pages of sealed segments as the kernel would: each with a chance of `percent`. Returns how many.
    @discardableResult
    func loseSealedPages(percent: Int, using random: inout SplitMix64) -> Int {
        var lost = 0
        for (number, _, isVolatile) in sealedSegmentNumbers() where isVolatile {
            for page in 0..<Segment.pageCount where Int.random(in: 0..<100, using: &random) < percent {
                let place = table[number].pointee.base + page * ItemLayout.pageBytes
                _ = PageSystem.live.advise(place, ItemLayout.pageBytes, .discard)
                lost += 1
            }
        }
        return lost
    }
}

/// Bytes that belong to one key and one length, and are never all zero.
func bytes(of key: Int, count: Int) -> [UInt8] {
    var random = SplitMix64(seed: UInt64(truncatingIfNeeded: key) &* 31 &+ UInt64(count))
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        var index = 0
        while index + 8 <= count {
            bytes.storeBytes(of: random.next() | 1, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < count {
            bytes[index] = UInt8(truncatingIfNeeded: random.next())
            index += 1
        }
        initialized = count
    }
}
