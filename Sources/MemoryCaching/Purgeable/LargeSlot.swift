//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// A value too long for the log, with pages of its own that are held in place while it is lent out, and the entry that
/// owns it.
struct LargeSlot {
    let value: PurgeableBytes
    let location: LogLocation
    /// Grows with every large value that is set.
    let serial: UInt64
    let slot: Int
}

extension LogLocation {
    /// The location of a value that is kept outside of the log: a place in its shard, and a number that tells it from
    /// earlier values in that place.
    init(largeAt place: Int, serial: UInt64) {
        self.init(word: 1 << 63 | LogLocation.largeBit | (serial & 0xFFF_FFFF) << 32 | UInt64(place))
    }

    var largePlace: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }
}
