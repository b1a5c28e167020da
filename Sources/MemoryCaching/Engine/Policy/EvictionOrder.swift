//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The order in which the entries of one shard are to go: those that cost something, and those that cost nothing and so
/// are no victims of a cost limit.
@usableFromInline
struct EvictionOrder {
    @usableFromInline var costly = StayQueues()
    @usableFromInline var costless = StayQueues()

    @inlinable
    init() {}

    /// The height of the least head that may go for `cause`; infinite where there is none.
    @inlinable
    func leastHeight(for cause: RemovalCause) -> Float {
        cause == .costLimit ? costly.leastHeight : min(costly.leastHeight, costless.leastHeight)
    }

    /// The slot of least height that may go for `cause`; 0 where there is none.
    @inlinable
    mutating func least(for cause: RemovalCause) -> UInt32 {
        cause != .costLimit && costless.leastHeight < costly.leastHeight ? costless.least : costly.least
    }

    /// The slot of least height, if that is known without a search; else 0.
    @inlinable
    @inline(always)
    var likelyVictim: UInt32 { costless.leastHeight < costly.leastHeight ? costless.knownLeast : costly.knownLeast }

    /// Appends `slot`, whose stay, height and flags are set, to its queue.
    @inlinable
    mutating func append(_ slot: UInt32, in view: SlabView) {
        if view[slot].pointee.info.has(EntryInfo.costless) {
            costless.append(slot, in: view)
        } else {
            costly.append(slot, in: view)
        }
    }

    /// Takes `slot` out of its queue.
    @inlinable
    mutating func unlink(_ slot: UInt32, in view: SlabView) {
        if view[slot].pointee.info.has(EntryInfo.costless) {
            costless.unlink(slot, in: view)
        } else {
            costly.unlink(slot, in: view)
        }
    }

    /// Moves `slot` to the end of its queue, at `height`.
    @inlinable
    @inline(always)
    mutating func moveToEnd(_ slot: UInt32, height: Float, in view: SlabView) {
        if view[slot].pointee.info.has(EntryInfo.costless) {
            costless.moveToEnd(slot, height: height, in: view)
        } else {
            costly.moveToEnd(slot, height: height, in: view)
        }
    }

    /// Subtracts `delta` from the heights of all heads; the caller does so for the entries.
    @usableFromInline
    mutating func lower(by delta: Float) {
        costly.lower(by: delta)
        costless.lower(by: delta)
    }

    /// Notes the heights of all heads anew: those of the entries have changed, and not their order.
    @usableFromInline
    mutating func noteHeads(in view: SlabView) {
        costly.noteHeads(in: view)
        costless.noteHeads(in: view)
    }

    /// Forgets all entries.
    @usableFromInline
    mutating func removeAll() {
        costly.removeAll()
        costless.removeAll()
    }

    /// Calls `body` with the first slot of each queue that has any.
    @usableFromInline
    func forEachHead(_ body: (UInt32) -> Void) {
        costly.forEachHead(body)
        costless.forEachHead(body)
    }

    /// Frees the queues.
    @usableFromInline
    func deallocate() {
        costly.deallocate()
        costless.deallocate()
    }
}
