//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
public import Synchronization

/// One value in pages of its own, which the kernel may take back while nobody accesses it: the heart of this module.
///
/// Life: *building* (held by whoever fills it) → **volatile** ⇄ **pinned** → *warm* (unpinned, not yet sealed again,
/// free to pin) → volatile …, and from any unpinned state → **dead**. A value never comes back from the dead.
///
/// What the kernel does (MADV_FREE, Linux 4.5): it takes a page only if, after its page-table entry was cleared, the
/// page is not dirty. Hence:
///
/// - A read-modify-write of a page either finds it there, and then its dirty bit keeps it, or finds zeros. Pinning
///   does one to each page at its witness word; one zero, and the extent dies as a whole: a page alone is no value.
/// - A plain reader needs no pin: copy, fence, then look at the witness of every page touched. Loss is one-way, so
///   whatever was there after the copy was there during it. A page lost after the copy only costs a second look.
///
/// Invariants:
/// - I1 Only whoever builds, or holds the writing bit, writes to the pages.
/// - I2 Every page with content has a witness that is not zero; renewed before the writing bit, or the building hold,
///   is let go.
/// - I3 While an access is open, nothing makes the pages volatile or discards them: both run under the busy bit,
///   which excludes accesses, so a late seal cannot undo a fresh pin.
/// - I4 An extent is published after its seal.
/// - I5 A dead extent is discarded at once, and its pages are handed on only after its last reader is gone: readers
///   hold a reference to the value, whose deinitialiser gives the pages back.
/// - I6 The generation changes with the content; optimistic readers compare it last.
/// - I7 A refused seal leaves the extent resident and *ordinary*: it counts as such, so that caches evict it.
/// - I8 In a child of fork(2) the pages are wiped and every extent of the parent is dead (``ForkWitness``).
///
/// - SeeAlso: madvise(2); Linux mm/rmap.c `try_to_unmap_one`, mm/madvise.c `madvise_free_pte_range`.
@usableFromInline
final class Extent: @unchecked Sendable {
    // Sendable: `state` says who may touch the pages and the witnesses (I1); the rest is constant.

    // What every access looks at comes first, so that it lies in one or two lines of the processor's cache.
    @usableFromInline let state: Atomic<UInt64>
    @usableFromInline let forkGeneration: UInt64
    @usableFromInline let forkWord: UnsafeMutablePointer<Atomic<UInt64>>
    /// Whether there is a run; tested by every read.
    @usableFromInline let isPaged: Bool
    @usableFromInline let witnesses: PageWitnesses

    let base: UnsafeMutableRawPointer
    let byteCount: Int
    let pool: PurgeablePool
    /// The pages, or nil for a value in allocated memory: less than a page, or where no pages were to be had.
    let run: PageRun?
    private let arena: PageArena?

    /// A building extent of zeros, held once; traps where there is no memory at all.
    convenience init(byteCount: Int, pool: PurgeablePool, sharedWithChildren: Bool) {
        precondition(byteCount >= 0, "a negative number of bytes")
        let arena = pool.arena(for: byteCount, sharedWithChildren: sharedWithChildren)
        self.init(byteCount: byteCount, pool: pool, arena: arena, run: arena?.allocate(byteCount: byteCount))
    }

    private init(byteCount: Int, pool: PurgeablePool, arena: PageArena?, run: PageRun?) {
        self.pool = pool
        self.byteCount = byteCount
        var initial = ExtentState.building
        if let arena, let run {
            self.arena = arena
            self.run = run
            base = run.base
            witnesses = PageWitnesses(pageCount: PageSize.roundedUp(byteCount) / PageSize.base)
        } else {
            self.arena = nil
            self.run = nil
            base = .allocate(byteCount: max(byteCount, 1), alignment: 16)
            base.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
            witnesses = PageWitnesses(pageCount: 0)
            initial.isOrdinary = true
        }
        isPaged = run != nil
        let isWiped = self.arena?.wipesOnFork ?? false
        forkGeneration = isWiped ? pool.forkWitness.currentGeneration() : 0
        forkWord = (isWiped ? pool.forkWitness.word : ForkWitness.unwiped).assumingMemoryBound(
            to: Atomic<UInt64>.self
        )
        state = Atomic(initial.bits)
        pool.usage.add(residentByteCount, to: initial)
    }

    /// A building extent in pages, held once; nil where there are none to be had.
    convenience init?(pagesFor byteCount: Int, pool: PurgeablePool, sharedWithChildren: Bool = false) {
        guard let arena = pool.arena(for: byteCount, sharedWithChildren: sharedWithChildren),
            let run = arena.allocate(byteCount: byteCount)
        else { return nil }
        self.init(byteCount: byteCount, pool: pool, arena: arena, run: run)
    }

    /// Bytes of memory that the content takes.
    var residentByteCount: Int { run?.byteCount ?? byteCount }

    /// The state now.
    @inline(__always)
    func loadState() -> ExtentState { ExtentState(bits: state.load(ordering: .acquiring)) }

    /// The state now, after all that was read before.
    @inline(__always)
    func reloadState() -> ExtentState {
        atomicMemoryFence(ordering: .acquiring)
        return ExtentState(bits: state.load(ordering: .relaxed))
    }

    @inline(__always)
    private func exchange(_ old: ExtentState, _ new: ExtentState) -> Bool {
        state.weakCompareExchange(expected: old.bits, desired: new.bits, ordering: .acquiringAndReleasing).exchanged
    }

    /// Applies `change` atomically; answers the state before and after.
    @discardableResult
    private func update(_ change: (inout ExtentState) -> Void) -> (old: ExtentState, new: ExtentState) {
        var old = loadState()
        while true {
            var new = old
            change(&new)
            if exchange(old, new) { return (old, new) }
            old = loadState()
        }
    }

    /// Whether this process is a child that was forked after the extent was built, and sees wiped pages.
    @inlinable @inline(__always)
    var isOrphaned: Bool { forkWord.pointee.load(ordering: .relaxed) != forkGeneration }

    // MARK: Access

    /// Opens an access: the content stays where it is until ``unpin(borrowing:)``. False if it is gone.
    ///
    /// A borrow, which lends the bytes out, also keeps writers away. A warm or pinned extent costs one atomic
    /// addition; a volatile one a read-modify-write a page.
    @inlinable @inline(__always)
    func pin(borrowing: Bool) -> Bool {
        // A warm or pinned extent, the usual case, is one addition. Elsewhere the addition was premature and is taken
        // back; meanwhile it does no harm, for it merely looks like an access that is about to begin. To look before
        // adding costs 5 ns: a load soon after a locked instruction on the same word waits for it.
        if !isOrphaned {
            let old = state.wrappingAdd(ExtentState.accessUnit(borrowing: borrowing), ordering: .acquiring).oldValue
            if ExtentState(bits: old).admitsAccess { return true }
            withdraw(borrowing: borrowing)
        }
        return pinWhateverTheState(borrowing: borrowing)
    }

    /// Takes back an addition that came too early.
    @usableFromInline @inline(never)
    func withdraw(borrowing: Bool) { unpin(borrowing: borrowing) }

    @usableFromInline @inline(never)
    func pinWhateverTheState(borrowing: Bool) -> Bool {
        var backoff = Backoff()
        while true {
            let old = loadState()
            if old.phase == .dead { return false }
            if isOrphaned {
                loseToFork()
                return false
            }
            if old.isBusy || (borrowing && old.isWriting) {
                backoff.pause()
                continue
            }
            var new = old
            if old.phase == .resident {
                new.addAccess(borrowing: borrowing)
                if exchange(old, new) { return true }
            } else {
                new.isBusy = true
                if exchange(old, new) { return pinVolatile(borrowing: borrowing) }
            }
        }
    }

    /// The walk over a volatile extent's pages, under the busy bit.
    private func pinVolatile(borrowing: Bool) -> Bool {
        guard witnesses.pin(base) else {
            die()
            return false
        }
        let (old, new) = update {
            $0.isBusy = false
            $0.phase = .resident
            $0.addAccess(borrowing: borrowing)
        }
        pool.usage.move(residentByteCount, from: old, to: new)
        return true
    }

    /// Ends an access. The last one makes the extent warm; the warm queue will seal it. Traps without an access.
    @inlinable @inline(__always)
    func unpin(borrowing: Bool) {
        let change = state.wrappingSubtract(ExtentState.accessUnit(borrowing: borrowing), ordering: .releasing)
        if !ExtentState(bits: change.oldValue).hasAccess(borrowing: borrowing) { Self.trapOnEnd(borrowing: borrowing) }
        if ExtentState(bits: change.newValue).isWarmUnqueued { becomeWarm() }
    }

    @usableFromInline @inline(never)
    static func trapOnEnd(borrowing: Bool) -> Never {
        preconditionFailure(
            borrowing
                ? "an access to purgeable bytes ended twice"
                : "endContentAccess() without a matching beginContentAccess()"
        )
    }

    /// Puts the extent into the warm queue, unless somebody accesses it again or has put it there.
    @usableFromInline @inline(never)
    func becomeWarm() {
        guard isPaged else { return }
        // In a child nobody may ever let go of the queue's lock: another thread of the parent had it.
        if isOrphaned { return loseToFork() }
        var old = loadState()
        while old.isWarmUnqueued {
            var new = old
            new.isQueued = true
            if exchange(old, new) { return pool.warmQueue.enqueue(self) }
            old = loadState()
        }
    }

    // MARK: Mutation

    /// Opens an access that may write: waits for borrowers and other writers to finish. False if the content is gone.
    func beginMutation() -> Bool {
        guard pin(borrowing: false) else { return false }
        var backoff = Backoff()
        while true {
            let old = loadState()
            var new = old
            if !old.isWriting, old.borrows == 0 {
                new.isWriting = true
                new.advanceGeneration()
                if exchange(old, new) { break }
            } else {
                backoff.pause()
            }
        }
        // Readers that see any byte written from here on must see the new generation too.
        atomicMemoryFence(ordering: .releasing)
        return true
    }

    /// Ends an access that wrote.
    func endMutation() {
        witnesses.renew(base)
        update {
            $0.isWriting = false
            $0.advanceGeneration()
        }
        unpin(borrowing: false)
    }

    // MARK: Building

    /// Ends building: the content is complete, the pages become volatile. To be called once, before anybody else
    /// knows of the extent.
    func publish() {
        witnesses.renew(base)
        update {
            $0.bits -= ExtentState.accessUnit(borrowing: false)
            $0.isBusy = isPaged
        }
        guard let run else { return }
        finishSeal(pool.system.advise(run.base, run.byteCount, .free) == 0)
    }

    // MARK: Sealing, for the warm queue

    /// Takes the extent off the queue's books; true if it is to be sealed, and is now busy until ``finishSeal(_:)``.
    func beginSeal() -> Bool {
        var backoff = Backoff()
        while true {
            let old = loadState()
            var new = old
            new.isQueued = false
            // Pinned again: whoever unpins it last puts it back into the queue.
            let seals = !old.isPinned && old.phase == .resident
            if seals, isOrphaned {
                loseToFork()
            } else if seals, old.isBusy {
                backoff.pause()
            } else {
                new.isBusy = seals || old.isBusy
                if exchange(old, new) { return seals }
            }
        }
    }

    /// Records the kernel's answer to a seal.
    func finishSeal(_ isVolatile: Bool) {
        let (old, new) = update {
            $0.isBusy = false
            $0.isOrdinary = !isVolatile
            if isVolatile { $0.phase = .volatile }
        }
        pool.usage.move(residentByteCount, from: old, to: new)
    }

    // MARK: Death

    /// Discards the content if no access is open.
    func discardIfUnused() {
        var backoff = Backoff()
        while true {
            let old = loadState()
            if old.isPinned || old.phase == .dead { return }
            if isOrphaned { return loseToFork() }
            if old.isBusy {
                backoff.pause()
                continue
            }
            var new = old
            new.isBusy = true
            if exchange(old, new) { return die() }
        }
    }

    /// Death, under the busy bit: the generation first, so that no optimistic reader accepts what follows.
    private func die() {
        let (old, _) = update {
            $0.phase = .dead
            $0.advanceGeneration()
        }
        pool.usage.remove(residentByteCount, from: old)
        atomicMemoryFence(ordering: .releasing)
        if let run { arena!.discard(run.base, byteCount: run.byteCount) } else { base.deallocate() }
        update { $0.isBusy = false }
    }

    /// Death in a child of fork(2), whatever threads of the parent were about to do.
    private func loseToFork() {
        let (old, _) = update {
            $0.phase = .dead
            $0.isBusy = false
            $0.isWriting = false
            $0.advanceGeneration()
        }
        if old.phase != .dead { pool.usage.remove(residentByteCount, from: old) }
    }

    /// Whether the content is gone, as far as can be known without touching it: a system call if it is volatile.
    func isDiscarded() -> Bool {
        let old = loadState()
        if old.phase == .dead { return true }
        if isOrphaned {
            loseToFork()
            return true
        }
        guard old.phase == .volatile, let run, isAnyPageMissing(run) else { return false }
        // Verify under the busy bit: the pages may have been pinned, rewritten and sealed since the census.
        var new = old
        new.isBusy = true
        guard !old.isBusy, exchange(old, new) else { return loadState().phase == .dead }
        guard isAnyPageMissing(run) else {
            update { $0.isBusy = false }
            return false
        }
        die()
        return true
    }

    private func isAnyPageMissing(_ run: PageRun) -> Bool {
        arena!.withResidency(run.base, byteCount: PageSize.roundedUp(byteCount)) { residency in
            guard let residency else {
                return !witnesses.areAlive(base, pages: 0..<PageSize.roundedUp(byteCount) / PageSize.base)
            }
            return witnesses.isAnyMissing(residency)
        }
    }

    /// The last owner is gone, and with it every reader: the pages return to the arena, whatever the state.
    func abandon() {
        var backoff = Backoff()
        while true {
            let old = loadState()
            if old.isBusy, !isOrphaned {
                backoff.pause()
                continue
            }
            var new = old
            new.phase = .dead
            new.advanceGeneration()
            guard exchange(old, new) else { continue }
            if old.phase != .dead { pool.usage.remove(residentByteCount, from: old) }
            if let run {
                arena!.deallocate(run)
            } else if old.phase != .dead {
                base.deallocate()
            }
            return
        }
    }
}
