//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Memory that was announced and is about to be taken: see `withFree(bytes:_:)` of ``MemoryReserve``. A pure value.
///
/// What is announced is kept free until it is used, and not twice. Nobody says how much is used. But all that is in use
/// is held by caches, lies free in the heap, or is somebody else's; so the growth of what is neither of the first two,
/// since a body has begun, counts as used. All three are looked at as they are at one moment. (Sums of what was
/// inserted and evicted since the body began were off by a part of all that had come and gone: beside a thread that
/// replaced values, 100 MiB that were used did not count, and the whole cache went for them; and beside one that
/// inserted small ones, 58 of 128 MiB were filled before the body came to use them.)
struct Announcements: Sendable {
    /// Memory in use that is none of the caches': usage, less what lies free in the heap and what caches hold.
    struct Usage: Sendable {
        /// Usage, less what lies free in the heap.
        var inUse: Int
        var held: CacheHoldings
    }

    /// Bytes for which room is being made, and bytes of bodies that have begun.
    private var preparing = 0, begun = 0
    /// The bodies that have begun, in this order, with what was used before each.
    private var bodies: [(bytes: Int, usedBefore: Int)] = []
    /// What caches held when the last body began.
    private var heldBefore = CacheHoldings()
    /// Memory in use when the last body began, less what was used of what is announced. What the caches held then is
    /// part of it.
    private var base = 0
    /// Bytes announced that were in use when that was last looked at.
    private var used = 0

    var isEmpty: Bool { preparing + begun == 0 }

    /// Begins to keep `bytes` free, for which room is made from now on.
    mutating func prepare(_ bytes: Int, _ usage: Usage) {
        if begun == 0 {
            heldBefore = usage.held
            base = usage.inUse
        }
        preparing += bytes
        note(usage)
    }

    /// Room has been made for `bytes`, and from now on they may be used. What other bodies have used beyond their own
    /// bytes is not taken from these.
    mutating func begin(_ bytes: Int, _ usage: Usage?) {
        if let usage {
            note(usage)
            heldBefore = usage.held
            base = usage.inUse - used
        }
        preparing -= bytes
        begun += bytes
        bodies.append((bytes, used))
    }

    /// Ends that. What was used of it may be in use still or not; it is nobody else's. It is all that has been used since
    /// the body began, if that is not more: what was used before is others'.
    mutating func end(_ bytes: Int, _ usage: Usage?) {
        let growth = max(0, usage.map { others($0) - base } ?? used)
        begun -= bytes
        guard let index = bodies.lastIndex(where: { $0.bytes == bytes }) else { return }
        let own = min(max(0, growth - bodies[index].usedBefore), bytes)
        bodies.remove(at: index)
        for later in bodies.indices[index...] { bodies[later].usedBefore = max(0, bodies[later].usedBefore - own) }
        base += own
        used = min(begun, growth - own)
    }

    /// Takes note of what is in use now.
    mutating func note(_ usage: Usage) { used = min(begun, max(0, others(usage) - base)) }

    /// Bytes announced and not used yet, by the last usage that was noted.
    var held: Int { preparing + begun - used }

    private func others(_ usage: Usage) -> Int { usage.inUse - usage.held.growth(since: heldBefore) }
}
