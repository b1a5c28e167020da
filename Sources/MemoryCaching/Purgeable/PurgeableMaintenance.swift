//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import Synchronization

/// When a cache last looked after itself.
struct PurgeableMaintenance: ~Copyable {
    /// Held by the thread that takes a census.
    let isRunning = Atomic<Bool>(false)
    /// The number of sealed segments at the last census.
    let sealedAtCensus = Atomic<Int>(0)
    /// Segments, 8 MiB: a census of 256 MiB takes 60 µs, inserting as much 2.5 ms.
    static let segmentsBetween = 8
}
