//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// An entry that has left with its bytes.
struct PurgeableDeparture: @unchecked Sendable {
    // Sendable: keys are `Sendable` by the constraint of the cache, which the store does not know.

    let word: UInt64
    /// The key, where it is no integer.
    let key: Any?
    let bytes: [UInt8]?
    /// The value that has the bytes, where it is a large one.
    let large: PurgeableBytes?
}

/// What has left the index under a lock and is to be let go of after unlocking.
struct PurgeableDepartures {
    /// Values that were still counted, and their bytes: those that were not went with their segment.
    var count = 0
    var bytes = 0
    var large: [PurgeableBytes] = []
    var keys: [Any] = []
    /// What the removal handler is to be told of, where there is one.
    var told: [PurgeableDeparture] = []
    /// Segments that have been retired because the last of their items went.
    var retired: [Int] = []

    /// Bytes that the values took in their segments, about: each has a tag and is rounded to 8 bytes.
    var bytesInSegments: Int { bytes + count * SegmentPolicy.bytesBesideValue }
}

/// One entry that the owner removes.
struct PurgeableRemoval {
    var departures = PurgeableDepartures()
    var location: LogLocation?
    var isExpired = false
}
