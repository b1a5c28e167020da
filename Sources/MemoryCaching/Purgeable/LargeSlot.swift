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
