//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import PurgeableMemory
internal import Synchronization

/// Values one behind the other in 1 MiB segments of pages that the kernel may take back: the heart of the log.
///
/// Writing appends to an *active* segment, which is ordinary memory, without a lock. A full segment is *sealed* as a
/// whole: one `MADV_FREE` makes it volatile (about 13 µs a MiB, where sealing each item would cost 0.6 µs and a page).
/// From then on the kernel takes pages in the order of sealing, sparing those that were read since, and tells nobody.
/// Readers copy first and check afterwards: each item carries, in each page it reaches into, a tag of the segment's
/// generation and the hash of its key. In one word it shows that the page is still there, that the segment has not been
/// refilled, and that the item is the one looked for.
///
/// The log knows no keys and no policy: who owns the index decides what to append, what is no longer wanted
/// (``forget(_:)``), which segments to empty (``retire(_:)``) and when.
///
/// Invariants:
/// - Bytes of a segment are written between take and seal only, each once and before its location is known to anybody
///   else. What a reader may race with is the kernel alone.
/// - A segment is sealed after the last writer has published; it is retired only when sealed.
/// - Retiring moves the generation on before the pages are discarded, so old locations are stale at once; the pages
///   are discarded before they are refilled, which also flushes old translations on every processor; they are refilled,
///   or unmapped, only after every reader that was inside at the time has left (``ReaderGate``).
/// - A page found lost is marked and stays marked until the segment is retired: a read of it would map the shared zero
///   page, which mincore(2) reports as present.
/// - Where sealing is refused the segment is ordinary memory (``ordinaryBytes``) and somebody must evict it.
///
/// - SeeAlso: madvise(2), mincore(2); Rosenblum, Ousterhout, "The Design and Implementation of a Log-Structured File
///   System" (SOSP 1991), for segments and their cleaning.
final class SegmentLog: @unchecked Sendable {
    // Sendable: `state` is a mutex; `active` and records are atomics; `table` is appended to under the mutex and
    // published by an atomic.

    /// Active segments that fill beside each other, so that what is expected to stay does not share pages with what
    /// is not.
    static let streamCount = 2
    static let segmentBytes = Segment.byteCount
    /// What is done bit by bit beside the writing is done once for so many bytes: 16 times a segment.
    static let stepBytes = Segment.byteCount / 16
    /// Refills of one segment between two sweeps of the index; below the 1,024 that a location can tell apart.
    static let refillsBetweenSweeps = 1000

    struct State: ~Copyable {
        /// One for each segment there is, by its number.
        var histories: [SegmentHistory] = []
        /// Sealed segments, oldest first, of each stream; retired ones are skipped when met.
        var sealed: [SegmentQueue] = [SegmentQueue(), SegmentQueue()]
        /// May be filled.
        var free: [Int] = []
        /// The same once they have pages again.
        var unmapped: [Int] = []
        /// Free but refilled too often since the last sweep.
        var worn: [Int] = []
        /// Retired since the last flip of the gate, and before it.
        var resting: [Int] = []
        var rested: [Int] = []
        /// The pages of each segment, by its number; nil where they were given back.
        var runs: [PageRun?] = []
    }

    let arena: PageArena
    private let usage: UsageCounters?
    let table = SegmentTable()
    let state = ForkSafeMutex(State())
    /// The segment that each stream fills, or -1; stored under the lock.
    let active = TwoAtomics()
    let gate = ReaderGate()

    private let volatile = Atomic<Int>(0)
    private let ordinary = Atomic<Int>(0)
    let sealCount = Atomic<Int>(0)
    let losses = Atomic<Int>(0)
    /// Where a census that asks about some segments begins.
    let censusTurn = Atomic<Int>(0)

    /// A log over pages of `arena`, booked with `usage`.
    init(arena: PageArena = PageArena(pages: .base), usage: UsageCounters? = nil) {
        self.arena = arena
        self.usage = usage
    }

    deinit {
        if gate.isInherited { return }
        let arena = arena
        let table = table
        book(volatile: -volatileBytes, ordinary: -ordinaryBytes)
        state.withLock { state in
            table.destroy(count: state.histories.count)
            for case let run? in state.runs { arena.deallocate(run) }
        }
    }

    /// Bytes of sealed segments that the kernel may take, lost pages not subtracted.
    var volatileBytes: Int { volatile.load(ordering: .relaxed) }
    /// Bytes of segments that are ordinary memory: the active ones and those that could not be sealed.
    var ordinaryBytes: Int { ordinary.load(ordering: .relaxed) }
    /// Segments sealed so far: grows by one a MiB written.
    var sealedSegments: Int { sealCount.load(ordering: .relaxed) }

    func book(volatile volatileBytes: Int = 0, ordinary ordinaryBytes: Int = 0) {
        volatile.wrappingAdd(volatileBytes, ordering: .relaxed)
        ordinary.wrappingAdd(ordinaryBytes, ordering: .relaxed)
        usage?.addVolatile(volatileBytes)
        usage?.addOrdinary(ordinaryBytes)
    }

    // MARK: Life of segments

    /// Ends the writing of a segment: called once, by whoever finds it closed and empty of writers.
    func seal(_ number: Int) {
        let segment = table[number]
        // Pages behind the cursor were never written and count as lost from the start.
        let cursor = Fill(word: segment.pointee.fill.load(ordering: .relaxed)).cursor
        for page in (cursor + ItemLayout.pageBytes - 1) / ItemLayout.pageBytes..<Segment.pageCount {
            _ = segment.pointee.markLost(page)
        }
        // Refused under mlock, by an old kernel or a filter: then the pages stay ordinary memory.
        let accepted = arena.seal(segment.pointee.base, byteCount: Segment.byteCount)
        segment.pointee.isVolatile.store(accepted, ordering: .relaxed)
        if accepted {
            book(volatile: Segment.byteCount, ordinary: -Segment.byteCount)
        }
        sealCount.wrappingAdd(1, ordering: .relaxed)
        // It stands in the queue before anybody can retire it, who looks for it there.
        state.withLock { $0.sealed[$0.histories[number].stream].append(number) }
        var word = segment.pointee.life.load(ordering: .sequentiallyConsistent)
        while true {
            let life = Life(word: word)
            // All items may have been released while the segment was active.
            let isEmpty = life.items == 0
            let (done, now) = segment.pointee.life.weakCompareExchange(
                expected: word,
                desired: isEmpty ? life.next.word : word | Life.sealedBit,
                ordering: .sequentiallyConsistent
            )
            if done {
                if isEmpty { discardRetired(number) }
                return
            }
            word = now
        }
    }

    /// The number of a segment that may be filled; nil where the system has no memory. Under the lock.
    func takeFree(_ state: inout State) -> Int? {
        if state.free.isEmpty { flipGate(&state) }
        while let number = state.free.popLast() ?? state.unmapped.popLast() {
            if state.histories[number].refills >= Self.refillsBetweenSweeps {
                state.worn.append(number)
                continue
            }
            guard hasPages(number, &state) else {
                state.unmapped.append(number)
                return nil
            }
            state.histories[number].refills += 1
            table[number].pointee.forgetLosses()
            return number
        }
        let number = state.histories.count
        guard number < LogLocation.maximumSegments, let run = arena.allocate(byteCount: Segment.byteCount) else {
            return nil
        }
        table.add(number, base: run.base)
        state.runs.append(run)
        state.histories.append(SegmentHistory())
        return number
    }

    /// Sees to it that a free segment has pages; false where the system has no memory.
    private func hasPages(_ number: Int, _ state: inout State) -> Bool {
        if state.runs[number] != nil { return true }
        guard let run = arena.allocate(byteCount: Segment.byteCount) else { return false }
        table[number].pointee.move(to: run.base)
        state.runs[number] = run
        return true
    }

    /// Gives the address space of free segments back, too. What readers that are inside ``gate`` may still look at stays
    /// until the next call. The caller is not inside. O(segments that became free since), and a system call for each.
    func unmapFree() {
        let runs = state.withLock { state in
            flipGate(&state)
            let runs = state.free.compactMap { state.runs[$0].take() }
            state.unmapped += state.free
            state.free.removeAll(keepingCapacity: true)
            return runs
        }
        for run in runs { arena.deallocate(run) }
    }

    private func flipGate(_ state: inout State) {
        // Two flips free what was retired before the first of them.
        for _ in 0..<2 where !(state.resting.isEmpty && state.rested.isEmpty) {
            guard gate.flip() else { return }
            state.free += state.rested
            state.rested = state.resting
            state.resting = []
        }
    }

    // MARK: Letting go

    /// What ``release(_:)`` did.
    enum Release: Sendable {
        /// The item is no longer counted.
        case counted
        /// The same, and it was the last of a sealed segment, which is retired: ``discardRetired(_:)`` is to be called.
        case last
        /// The segment has been retired meanwhile, which has accounted for the item: the caller must not do so again.
        case stale
    }

    /// Says that nobody wants the item at `location` any more. The caller is inside ``gate`` since before it took the
    /// location out of its index. No system call and no lock: callers may hold theirs.
    func release(_ location: LogLocation) -> Release {
        let segment = table[location.segment]
        var word = segment.pointee.life.load(ordering: .sequentiallyConsistent)
        while true {
            let life = Life(word: word)
            guard life.generation & 0x3FF == location.generation else { return .stale }
            // Whether others are alive, whether the segment is sealed, and the retirement are one decision: between
            // two, writers could fill the segment and have it sealed.
            let isLast = life.isSealed && life.items == 1
            let (done, now) = segment.pointee.life.weakCompareExchange(
                expected: word,
                desired: isLast ? life.next.word : word - Life.amount(items: 1, bytes: location.byteCount),
                ordering: .sequentiallyConsistent
            )
            if done { return isLast ? .last : .counted }
            word = now
        }
    }

    /// ``release(_:)``, and whatever follows from it. False if the segment has been retired meanwhile.
    func forget(_ location: LogLocation) -> Bool {
        let release = release(location)
        if release == .last { discardRetired(location.segment) }
        return release != .stale
    }

    /// Empties a sealed segment and answers what was alive in it; nil if it is not sealed. Every location in it is
    /// stale from here on, and its memory is free.
    func retire(_ number: Int) -> Life? {
        let segment = table[number]
        var word = segment.pointee.life.load(ordering: .sequentiallyConsistent)
        while Life(word: word).isSealed {
            let (done, now) = segment.pointee.life.weakCompareExchange(
                expected: word,
                desired: Life(word: word).next.word,
                ordering: .sequentiallyConsistent
            )
            if done {
                discardRetired(number)
                return Life(word: word)
            }
            word = now
        }
        return nil
    }

    /// Gives the pages of a retired segment back. Called once, by the thread whose exchange retired it.
    func discardRetired(_ number: Int) {
        let segment = table[number]
        let wasVolatile = segment.pointee.isVolatile.exchange(false, ordering: .relaxed)
        if wasVolatile { book(volatile: -Segment.byteCount) } else { book(ordinary: -Segment.byteCount) }
        // Where the kernel does not discard, the pages are overwritten: readers that see a zero of that must see the
        // new generation too.
        atomicMemoryFence(ordering: .releasing)
        arena.discard(segment.pointee.base, byteCount: Segment.byteCount)
        state.withLock { state in
            state.sealed[state.histories[number].stream].retired(number)
            state.resting.append(number)
        }
    }
}
