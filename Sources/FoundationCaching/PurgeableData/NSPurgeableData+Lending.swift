//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

import Foundation
import PurgeableMemory
import Synchronization

extension NSPurgeableData {
    /// Begins an access, lends the bytes to `body` without copying them, and ends the access.
    ///
    /// `Data` cannot lend: bridging copies, and a `Data` made to point into these pages would write through to them. So
    /// this is the way to read many bytes in place. The data cannot be resized from within `body`; its bytes can be
    /// changed in place through ``mutableBytes``, which `body` should not do.
    ///
    /// - Parameter body: What to do with the bytes. They are valid within it only, which the compiler sees to.
    /// - Returns: What `body` returns, or `nil`, without calling it, if the bytes have been discarded.
    /// - Complexity: O(1) beside `body`.
    public final func withBytes<Result, Failure>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard buffer.beginContentAccess() else { return nil }
        lentSpans.add(1, ordering: .relaxed)
        defer {
            lentSpans.subtract(1, ordering: .relaxed)
            buffer.endContentAccess()
        }
        return try body(buffer.unsafeBytes.bytes)
    }
}

#endif
