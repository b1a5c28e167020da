//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import CMemoryShims
internal import ForkSafety
internal import Synchronization

/// Memory that may be read without a lock: blocks that are out of use stay readable as long as the cache.
///
/// A reader that was overtaken by a writer may still look where a table or a slab was. What it reads there it throws
/// away, because the writer has changed the shard's sequence; so it may be anything, as long as reading does not fault.
/// Therefore a block that is out of use is neither returned to the allocator nor unmapped, but used again for a later
/// block of its size. A mapping's pages are given back at once, and zeros stand in their place. Smaller blocks stay
/// allocated; a table or a slab that doubles leaves less behind than it takes. Where the kernel promises no more memory
/// than it has (`vm.overcommit_memory` 2, proc_sys_vm(5)), what is out of use counts as if it were used.
///
/// No thread ever waits for a reader, and none asks which readers there are: that a thread was interrupted while it
/// reads, or is not there any more in the child of a fork, does no harm.
///
/// - SeeAlso: "type-stable memory": Greenwald and Cheriton, "The Synergy Between Non-Blocking Synchronization and
///   Operating System Structure", OSDI 1996; the kernel's `SLAB_TYPESAFE_BY_RCU`.
@usableFromInline
final class StableMemory: Sendable {
    /// Blocks out of use, by size. A leaf among the locks.
    private let unused = ForkSafeMutex<[Int: [UInt]]>([:])

    /// Whether this process may keep memory mapped that it does not use, and reads without a lock are to be had at all:
    /// ThreadSanitizer, which knows nothing of the check that follows such a read, would report each of them. Asked
    /// once: two threads that meet at a lock must not ask the kernel each time.
    static let isAllowed = cms_mapping_is_limited() == 0 && cms_is_thread_sanitized == 0

    init() {}

    deinit {
        unused.withLock { unused in
            for (byteCount, blocks) in unused {
                for block in blocks { AlignedMemory.deallocate(.init(bitPattern: block).unsafelyUnwrapped, byteCount) }
            }
        }
    }

    /// A block of `byteCount` bytes that was out of use; a mapping's are zeros, others undefined.
    private func reuse(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let block = unused.withLock { $0[byteCount]?.popLast() }
        // Who reads what is written there next, and passes an acquire, sees the sequence that changed before it went
        // out of use.
        atomicMemoryFence(ordering: .releasing)
        return block.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
    }

    /// `byteCount` bytes of zeros.
    func allocateZeros(_ byteCount: Int) -> UnsafeMutableRawPointer {
        guard let memory = reuse(byteCount) else { return AlignedMemory.allocateZeros(byteCount) }
        if !AlignedMemory.isMapped(byteCount) {
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        }
        return memory
    }

    /// The contents of `memory` in a block of `newByteCount` bytes; `memory` itself is out of use.
    func grow(
        _ memory: UnsafeMutableRawPointer,
        from byteCount: Int,
        to newByteCount: Int
    ) -> UnsafeMutableRawPointer {
        defer { retire(memory, byteCount) }
        // What is out of use comes first, or a cache that is filled and emptied in turn would map ever more.
        let reused = reuse(newByteCount)
        if reused == nil, let moved = AlignedMemory.moveAndGrow(memory, from: byteCount, to: newByteCount) {
            return moved
        }
        let grown = reused ?? AlignedMemory.allocate(newByteCount)
        grown.copyMemory(from: memory, byteCount: min(byteCount, newByteCount))
        return grown
    }

    /// Takes a block of `byteCount` bytes out of use, in which nothing is to be deinitialised.
    func retire(_ memory: UnsafeMutableRawPointer, _ byteCount: Int) {
        // The zeros may be written, as what lies around them may: so they stay one mapping with that, of which a
        // process may have only so many. Where the kernel has too many to replace them, the pages stay.
        if AlignedMemory.isMapped(byteCount), !AlignedMemory.replaceByZeros(memory, byteCount) {
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        }
        unused.withLock { $0[byteCount, default: []].append(UInt(bitPattern: memory)) }
    }
}
