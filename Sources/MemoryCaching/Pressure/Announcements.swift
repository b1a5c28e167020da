//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Memory that was announced and is about to be taken: see `withFree(bytes:_:)` of ``MemoryReserve``. A pure value.
///
/// What is announced is kept free until it is used, and not twice: the growth of usage since the first body has begun
/// that insertions do not explain counts as used. What evictions have freed is added, because it lies free in the heap,
/// was filled by an insertion, or has been returned. While room is being made, nothing of what it is made for is used,
/// whatever other threads evict.
struct Announcements: Sendable {
    /// Bytes for which room is being made, and bytes of bodies that have begun.
    private var preparing = 0, begun = 0
    private var count = 0
    /// Usage that insertions do not explain, when the first body began and after what others have used since.
    private var base = 0

    var isEmpty: Bool { count == 0 }

    /// Begins to keep `bytes` free, for which room is made from now on.
    mutating func prepare(_ bytes: Int, unexplained: Int) {
        if begun == 0 { base = unexplained }
        count += 1
        preparing += bytes
    }

    /// Room has been made for `bytes`, and from now on they may be used. What other bodies have used beyond their own
    /// bytes is not taken from these.
    mutating func begin(_ bytes: Int, unexplained: Int?) {
        if let unexplained { base = unexplained - used(unexplained) }
        preparing -= bytes
        begun += bytes
    }

    /// Ends that. What was used of it may be in use still or not; it is nobody else's.
    mutating func end(_ bytes: Int, unexplained: Int?) {
        base += min(max(0, (unexplained ?? base) - base), bytes)
        count -= 1
        begun -= bytes
    }

    /// Room was made, and usage that insertions do not explain has grown by `bytes` meanwhile: evictions returned so
    /// much less than they freed, because it shares pages with what is still held. Nobody has used it.
    mutating func evicted(unreturned bytes: Int) { base += max(0, bytes) }

    /// Bytes announced and not used yet.
    func held(unexplained: Int) -> Int { preparing + begun - used(unexplained) }

    private func used(_ unexplained: Int) -> Int { min(begun, max(0, unexplained - base)) }
}
