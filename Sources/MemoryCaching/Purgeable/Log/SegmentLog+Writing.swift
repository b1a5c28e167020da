//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import Synchronization

// Writing: room is reserved in an active segment without a lock, filled, and closed.
extension SegmentLog {
    /// Room for one item, held open until ``close(_:)``.
    struct Reservation: Sendable {
        let location: LogLocation
        let segment: Int
        /// Whether another ``stepBytes`` of the segment are full: a sign to do some of what is done bit by bit.
        let isStep: Bool
    }

    /// Reserves room for `byteCount` bytes (at most ``LogLocation/maximumByteCount``); nil where the system has no
    /// memory. The item counts as alive from here on. The caller is inside ``gate``. O(1), without a lock; a lock and
    /// a segment's worth of system calls once a MiB.
    func reserve(byteCount: Int, stream: Int) -> Reservation? {
        while true {
            let number = active[stream].load(ordering: .acquiring)
            if number >= 0, let reservation = enter(number, byteCount: byteCount) { return reservation }
            guard replaceActive(number, stream: stream) else { return nil }
        }
    }

    /// Reserves room in a segment; nil if it is full or closed.
    private func enter(_ number: Int, byteCount: Int) -> Reservation? {
        let segment = table[number]
        var fill = Fill(word: segment.pointee.fill.load(ordering: .relaxed))
        while !fill.isClosed {
            let start = ItemLayout.start(from: fill.cursor, byteCount: byteCount)
            let end = ItemLayout.end(start: start, byteCount: byteCount)
            guard end <= Segment.byteCount else { return nil }
            let (done, now) = segment.pointee.fill.weakCompareExchange(
                expected: fill.word,
                desired: fill.entered(upTo: end),
                successOrdering: .acquiring,
                failureOrdering: .relaxed
            )
            guard done else {
                fill = Fill(word: now)
                continue
            }
            // Inside, nobody seals the segment, and so nobody retires it.
            let life = segment.pointee.life.wrappingAdd(
                Life.amount(items: 1, bytes: byteCount),
                ordering: .relaxed
            ).newValue
            let location = LogLocation(
                segment: number,
                generation: Life(word: life).generation,
                offset: start,
                byteCount: byteCount
            )
            let isStep = fill.cursor / Self.stepBytes != end / Self.stepBytes
            return Reservation(location: location, segment: number, isStep: isStep)
        }
        return nil
    }

    /// Closes the stream's active segment `full`, unless another thread has, and takes a free one. False where the
    /// system has no memory.
    private func replaceActive(_ full: Int, stream: Int) -> Bool {
        var isDone = false
        let hasActive = state.withLock { state in
            guard active[stream].load(ordering: .relaxed) == full else { return true }
            if full >= 0 {
                isDone = closeToWriters(full)
                active[stream].store(-1, ordering: .relaxed)
            }
            guard let number = takeFree(&state) else { return false }
            state.histories[number].stream = stream
            book(ordinary: Segment.byteCount)
            table[number].pointee.fill.store(0, ordering: .releasing)
            active[stream].store(number, ordering: .releasing)
            return true
        }
        if isDone { seal(full) }
        return hasActive
    }

    /// Writes the item's bytes. No lock is held; nobody else knows the place yet.
    func write(_ bytes: UnsafeRawBufferPointer, hash48: UInt64, at reservation: Reservation) {
        let segment = table[reservation.segment]
        let tag = ItemLayout.tag(generation: segment.pointee.generation, hash48: hash48)
        ItemCopy.write(bytes, tag: tag, to: segment.pointee.base, offset: reservation.location.offset)
    }

    /// Ends a reservation, after the location has been published or given up by ``forget(_:)``.
    func close(_ reservation: Reservation) {
        let fill = table[reservation.segment].pointee.fill
            .wrappingSubtract(Fill.writer, ordering: .acquiringAndReleasing).newValue
        if Fill(word: fill).isDone { seal(reservation.segment) }
    }

    /// Seals the active segments in which `byteCount` bytes at least are written, although they are not full, so that
    /// nothing is ordinary memory that need not be. Returns how many bytes were written there.
    @discardableResult
    func sealActive(holding byteCount: Int = 0) -> Int {
        var written = 0
        var filled: [Int] = []
        state.withLock { _ in
            for stream in 0..<Self.streamCount {
                let number = active[stream].load(ordering: .relaxed)
                guard number >= 0 else { continue }
                let cursor = Fill(word: table[number].pointee.fill.load(ordering: .relaxed)).cursor
                guard cursor >= byteCount else { continue }
                written += cursor
                active[stream].store(-1, ordering: .relaxed)
                if closeToWriters(number) { filled.append(number) }
            }
        }
        for number in filled { seal(number) }
        return written
    }

    /// Lets no further writer in; true if none is inside, so that the caller seals.
    private func closeToWriters(_ number: Int) -> Bool {
        let fill = table[number].pointee.fill.bitwiseOr(Fill.closedBit, ordering: .acquiringAndReleasing).newValue
        return Fill(word: fill).isDone
    }
}
