//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
internal import ForkSafety

/// Growable bytes with an access counter, the storage behind `NSPurgeableData`.
///
/// Born accessed: the counter begins at 1, and while it is above 0 the bytes stay in place and may be written through
/// ``unsafeMutableBytes``. At 0 they are volatile (after a stay in the warm queue), and what is gone stays gone.
///
/// Counting is safe from any thread; bytes are for one thread at a time, like those of any mutable object. A child of
/// fork(2) shares the bytes with its parent, copied on write, since a mutable object may be in use while its process
/// forks.
package final class PurgeableBuffer: DiscardableContent, Sendable {
    private struct State {
        var extent: Extent
        var byteCount: Int
        var accessCount = 1
    }

    private let state: ForkSafeMutex<State>

    /// `byteCount` zeros, with room for `capacity` bytes before anything moves, where there are pages for it. Traps
    /// without memory for the zeros.
    package init(byteCount: Int, capacity: Int = 0, pool: PurgeablePool = .shared) {
        let roomy = capacity > byteCount ? Self.pages(capacity, pool) : nil
        let extent = roomy ?? Self.extent(capacity: byteCount, pool: pool)
        state = ForkSafeMutex(State(extent: extent, byteCount: byteCount))
    }

    /// `byteCount` zeros in pages; nil where there are none to be had.
    package init?(pagesFor byteCount: Int, pool: PurgeablePool = .shared) {
        guard let extent = Self.pages(byteCount, pool) else { return nil }
        state = ForkSafeMutex(State(extent: extent, byteCount: byteCount))
    }

    deinit { state.withLock { $0.extent.abandon() } }

    /// The number of bytes, whether they are there or gone.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// How many accesses are open.
    package var accessCount: Int { state.withLock { $0.accessCount } }

    /// Adds one to the counter, or answers `false` if the bytes are gone.
    package func beginContentAccess() -> Bool {
        state.withLock { state in
            guard state.accessCount > 0 || state.extent.pin(borrowing: false) else { return false }
            state.accessCount += 1
            return true
        }
    }

    /// Takes one from the counter; at 0 the bytes become volatile. Traps at 0.
    package func endContentAccess() {
        state.withLock { state in
            require(state.accessCount > 0, "endContentAccess() without a matching beginContentAccess()")
            state.accessCount -= 1
            guard state.accessCount == 0 else { return }
            state.extent.witnesses.renew(state.extent.base)
            state.extent.unpin(borrowing: false)
        }
    }

    /// Frees the bytes if the counter is 0.
    package func discardContentIfPossible() {
        state.withLock { state in
            if state.accessCount == 0 { state.extent.discardIfUnused() }
        }
    }

    /// Whether the bytes are gone.
    package var isContentDiscarded: Bool {
        state.withLock { $0.accessCount == 0 && $0.extent.isDiscarded() }
    }

    /// The bytes, valid while accessed and until the next ``resize(to:)``. Traps if the counter is 0.
    package var unsafeMutableBytes: UnsafeMutableRawBufferPointer {
        state.withLock { state in
            require(state.accessCount > 0, "purgeable bytes used without beginContentAccess()")
            return UnsafeMutableRawBufferPointer(start: state.extent.base, count: state.byteCount)
        }
    }

    /// Changes the number of bytes; new ones are zero. Bytes may move. Amortised O(added or removed bytes). Traps if
    /// the counter is 0.
    package func resize(to byteCount: Int) {
        require(byteCount >= 0, "a negative number of bytes")
        state.withLock { state in
            require(state.accessCount > 0, "purgeable bytes used without beginContentAccess()")
            let old = state.extent
            if byteCount > old.byteCount {
                // Half as much again each time makes appending linear; 3/2 lets freed runs be used again.
                let new = Self.extent(capacity: max(byteCount, old.byteCount + old.byteCount / 2), pool: old.pool)
                new.base.copyMemory(from: old.base, byteCount: state.byteCount)
                state.extent = new
                old.abandon()
            } else if byteCount < state.byteCount {
                (old.base + byteCount).initializeMemory(
                    as: UInt8.self,
                    repeating: 0,
                    count: state.byteCount - byteCount
                )
            }
            state.byteCount = byteCount
        }
    }

    /// A building extent, which counts as the buffer's one pin; whole pages if it has any.
    private static func extent(capacity: Int, pool: PurgeablePool) -> Extent {
        let byteCount = capacity < PageSize.base ? capacity : PageSize.roundedUp(capacity)
        return Extent(byteCount: byteCount, pool: pool, sharedWithChildren: true)
    }

    private static func pages(_ capacity: Int, _ pool: PurgeablePool) -> Extent? {
        guard capacity >= PageSize.base else { return extent(capacity: capacity, pool: pool) }
        return Extent(pagesFor: PageSize.roundedUp(capacity), pool: pool, sharedWithChildren: true)
    }
}
