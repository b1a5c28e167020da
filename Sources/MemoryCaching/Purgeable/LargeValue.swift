//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory

/// A value too long for the log, in pages of its own.
final class LargeValue: Sendable {
    let byteCount: Int
    private let bytes: [UInt8]

    /// Nil where the system has no pages.
    init?(_ bytes: UnsafeRawBufferPointer) {
        byteCount = bytes.count
        self.bytes = Array(bytes)
    }

    func copy() -> [UInt8]? { bytes }
    var isDiscarded: Bool { false }
}
