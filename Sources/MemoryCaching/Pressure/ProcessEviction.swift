//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims

/// Whether this thread is evicting for the process, and what removal handlers have inserted meanwhile.
///
/// What such a handler inserts, into whichever cache, is charged, but the governor makes no room for it: it would evict
/// inside an eviction, as many levels deep as there are entries, and wait at the brink for its own thread. The next
/// insertion asks. What a handler inserts at any other time, as into a second cache behind a limited one, asks like any
/// insertion: nobody else may ever insert there.
@usableFromInline
enum ProcessEviction {
    @usableFromInline
    @inline(never)
    static var isRunning: Bool { cms_process_eviction().pointee.depth > 0 }

    /// Takes note of what a removal handler has inserted.
    static func inserted(_ bytes: Int) { cms_process_eviction().pointee.inserted += Int64(clamping: bytes) }

    /// Runs an eviction; returns its result, and the bytes that handlers have inserted meanwhile: so much less is free.
    static func run<R>(_ body: () -> R) -> (result: R, inserted: Int) {
        let thread = cms_process_eviction()
        let before = thread.pointee.inserted
        thread.pointee.depth += 1
        let result = body()
        thread.pointee.depth -= 1
        return (result, Int(clamping: thread.pointee.inserted - before))
    }
}
