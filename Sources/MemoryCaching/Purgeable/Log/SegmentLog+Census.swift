//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import ForkSafety
internal import PurgeableMemory
internal import Synchronization

extension SegmentLog {
    /// What a census found in one sealed segment.
    struct SegmentCensus: Sendable {
        let segment: Int
        let stream: Int
        let life: Life
        let pagesLost: Int
        let isVolatile: Bool
        /// 256.
        static let pages = Segment.pageCount
    }

    /// What a census found.
    struct Census: Sendable {
        var segments: [SegmentCensus] = []
        /// Pages that were found lost for the first time.
        var newlyLost = 0
        /// Bytes in volatile pages that are still there.
        var volatileBytes = 0
        init() {}
    }

    /// Asks the kernel which pages of the sealed segments are still there and marks the lost ones.
    ///
    /// By mincore(2), 0.9 ns a page: a look at the pages themselves would refresh them all in the kernel's order and
    /// so undo it. O(pages).
    ///
    /// - Parameter most: segments to ask about, by turns; of the others the census says what is known.
    func takeCensus(asking most: Int = .max) -> Census {
        let streams = state.withLock { state in (0..<Self.streamCount).map { state.sealed[$0].all } }
        let total = streams.reduce(0) { $0 + $1.count }
        // Those from `first` on are asked about, round the end.
        let first = total > most ? censusTurn.wrappingAdd(most, ordering: .relaxed).oldValue % total : 0
        var census = Census()
        // Inside the gate nothing is refilled: a mark that comes after a retirement is wiped by the refill.
        let pass = gate.enter(0)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Segment.pageCount) { residency in
            var place = 0
            for (stream, numbers) in streams.enumerated() {
                for number in numbers {
                    let isAsked = (place - first + total) % total < most
                    count(number, stream: stream, isAsked ? residency.baseAddress : nil, &census)
                    place += 1
                }
            }
        }
        gate.leave(pass)
        losses.wrappingAdd(census.newlyLost, ordering: .relaxed)
        return census
    }

    private func count(
        _ number: Int,
        stream: Int,
        _ residency: UnsafeMutablePointer<UInt8>?,
        _ census: inout Census
    ) {
        let segment = table[number]
        let life = Life(word: segment.pointee.life.load(ordering: .sequentiallyConsistent))
        guard life.isSealed else { return }
        let isVolatile = segment.pointee.isVolatile.load(ordering: .relaxed)
        if isVolatile, let residency,
            arena.system.residency(segment.pointee.base, Segment.byteCount, residency) == 0,
            // A segment retired meanwhile shows no pages: the generation tells that apart from a loss.
            segment.pointee.generation == life.generation
        {
            let grains = PageSize.base / ItemLayout.pageBytes
            for answer in 0..<Segment.pageCount / grains where residency[answer] & 1 == 0 {
                for page in answer * grains..<(answer + 1) * grains where segment.pointee.markLost(page) {
                    census.newlyLost += 1
                }
            }
        }
        let lost = segment.pointee.lostCount
        if isVolatile { census.volatileBytes += Segment.byteCount - lost * ItemLayout.pageBytes }
        census.segments.append(
            SegmentCensus(segment: number, stream: stream, life: life, pagesLost: lost, isVolatile: isVolatile)
        )
    }

    /// Pages found lost, by censuses and readers, since this was last asked.
    func takeLosses() -> Int { losses.exchange(0, ordering: .relaxed) }

    /// All sealed segments, those of the first stream first, oldest first within a stream.
    func sealedSegmentNumbers() -> [(number: Int, generation: UInt16, isVolatile: Bool)] {
        state.withLock { state in (0..<Self.streamCount).flatMap { state.sealed[$0].all } }
            .map { ($0, table[$0].pointee.generation, table[$0].pointee.isVolatile.load(ordering: .relaxed)) }
    }

    /// Takes note that a sweep of the whole index begins, for ``sweepFinished()``.
    func sweepStarts() {
        state.withLock { state in
            for number in state.histories.indices {
                state.histories[number].refillsBeforeSweep = state.histories[number].refills
            }
        }
    }

    /// Says that no entry older than the sweep's start is left in the index: segments that were refilled too often
    /// may be used again. Refills since the start go on counting, because a sweep takes its time.
    func sweepFinished() {
        state.withLock { state in
            for number in state.histories.indices {
                state.histories[number].refills -= state.histories[number].refillsBeforeSweep
                state.histories[number].refillsBeforeSweep = 0
            }
            state.free += state.worn
            state.worn = []
        }
    }

    /// Whether segments wait for a sweep of the index.
    var needsSweep: Bool { state.withLock { !$0.worn.isEmpty } }
}
