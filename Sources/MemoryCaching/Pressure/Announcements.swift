//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Memory that was announced and is about to be taken: see `withFree(bytes:_:)` of ``MemoryReserve``. A pure value.
///
/// What is announced is kept free until it is used, and not twice: the growth of usage since the first announcement
/// that insertions do not explain counts as used. What evictions have freed is added, because it lies free in the heap,
/// was filled by an insertion, or has been returned.
struct Announcements: Sendable {
    private var bytes = 0
    private var count = 0
    /// Usage that insertions do not explain, at the first announcement and after what others have used since.
    private var base = 0

    var isEmpty: Bool { count == 0 }

    /// Begins to keep `bytes` free.
    mutating func begin(_ bytes: Int, unexplained: Int) {
        if count == 0 { base = unexplained }
        count += 1
        self.bytes += bytes
    }

    /// Ends that. What was used of it may be in use still or not; it is nobody else's.
    mutating func end(_ bytes: Int, unexplained: Int?) {
        base += min(max(0, (unexplained ?? base) - base), bytes)
        count -= 1
        self.bytes -= bytes
    }

    /// Room was made, and usage that insertions do not explain has grown by `bytes` meanwhile: evictions returned so
    /// much less than they freed, because it shares pages with what is still held. Nobody has used it.
    mutating func evicted(unreturned bytes: Int) { base += max(0, bytes) }

    /// Bytes announced and not used yet.
    func held(unexplained: Int) -> Int { max(0, bytes - max(0, unexplained - base)) }
}
