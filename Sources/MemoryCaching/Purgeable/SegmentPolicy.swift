//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Which segments to clean: pure arithmetic over a census, so that it can be tested without pages.
///
/// New items go to the *probation* stream, and to *main* if they left a short while ago (``KeyGhosts``). As long as
/// there is room nothing is cleaned. Once the kernel has begun to take pages, what is there is about all there can be,
/// and probation is kept to a tenth of it: its oldest segments are emptied, items that were read in the meantime move
/// to main, the others are remembered as ghosts. This is S3-FIFO, except that its main queue is left to the kernel,
/// which takes the oldest pages first and spares those read since: a CLOCK that costs nothing. Copying always ends with
/// the source being emptied, because a copy beside a page that stays alive only pushes others out.
///
/// - SeeAlso: Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023).
struct SegmentPolicy {
    /// One sealed segment, as the census saw it.
    struct Candidate {
        var number: Int
        var stream: Int
        /// Bytes of live items, tags and rounding included.
        var liveBytes: Int
        /// Bytes of pages that are still there.
        var residentBytes: Int
        var isVolatile: Bool
    }

    /// What to do with which segments.
    struct Decision: Equatable {
        /// Keep the items that were read, remember the others.
        var promote: [Int] = []
        /// Keep all items.
        var compact: [Int] = []
        /// Keep nothing: ordinary memory above its limit.
        var drop: [Int] = []
    }

    /// Bytes that an item takes beside its value, on average: a tag, and rounding to 8 bytes.
    static let bytesBesideValue = 12

    static let probation = 0
    static let main = 1
    /// S3-FIFO's small queue is a tenth of the cache.
    static let probationShare = 10
    /// What is dead may be half as much as what is alive, and a few segments in any case, before it is cleaned up.
    static let leastGarbage = 4 << 20
    /// A segment of which less than an eighth is there only makes the census slower.
    static let sparseBytes = (1 << 20) / 8
    /// The kernel takes a few pages now and then from anybody; only more than this is a sign of a full house.
    static let noise = 64 << 10

    /// Bytes of pages that there were when the kernel last took some; nil as long as it has taken none.
    private(set) var capacity: Int?

    init(capacity: Int? = nil) { self.capacity = capacity }

    /// Decides after a census.
    ///
    /// - Parameters:
    ///   - candidates: sealed segments, oldest first within a stream.
    ///   - lostBytes: bytes of pages taken since the last census.
    ///   - insertedBytes: bytes written since the last census, about as many as will be written until the next.
    ///   - ordinaryLimit: bytes of segments that the kernel cannot take which may stay.
    mutating func decide(
        _ candidates: [Candidate],
        lostBytes: Int,
        insertedBytes: Int,
        ordinaryLimit: Int
    ) -> Decision {
        let resident = candidates.reduce(0) { $0 + ($1.isVolatile ? $1.residentBytes : 0) }
        if lostBytes > Self.noise {
            capacity = resident
        } else if let known = capacity {
            // Room may have come back: grow by a little of what is inserted, and let the kernel say no.
            capacity = max(known, min(known + insertedBytes / 16, resident + insertedBytes))
        }
        var decision = Decision()
        // A small cache may take in more between two censuses than it holds: never clean more than an eighth at once.
        promote(candidates, resident: resident, insertedBytes: min(insertedBytes, resident / 8), &decision)
        compact(candidates, &decision)
        var ordinary = candidates.reduce(0) { $0 + ($1.isVolatile ? 0 : $1.residentBytes) }
        for candidate in candidates where !candidate.isVolatile && ordinary > ordinaryLimit {
            decision.drop.append(candidate.number)
            ordinary -= candidate.residentBytes
        }
        decision.compact.removeAll { decision.drop.contains($0) || decision.promote.contains($0) }
        decision.promote.removeAll { decision.drop.contains($0) }
        return decision
    }

    /// Forgets what it knows: everything has been removed.
    mutating func reset() { capacity = nil }

    private func promote(_ candidates: [Candidate], resident: Int, insertedBytes: Int, _ decision: inout Decision) {
        guard let capacity, resident + insertedBytes > capacity else { return }
        var probation = 0
        for candidate in candidates where candidate.stream == Self.probation && candidate.isVolatile {
            probation += candidate.residentBytes
        }
        var excess = min(resident + insertedBytes - capacity, probation - capacity / Self.probationShare)
        for candidate in candidates where candidate.stream == Self.probation && candidate.isVolatile && excess > 0 {
            decision.promote.append(candidate.number)
            excess -= candidate.residentBytes
        }
    }

    private func compact(_ candidates: [Candidate], _ decision: inout Decision) {
        decision.compact = candidates.filter { $0.residentBytes < Self.sparseBytes }.map(\.number)
        let live = candidates.reduce(0) { $0 + min($1.liveBytes, $1.residentBytes) }
        var garbage = candidates.reduce(0) { $0 + $1.residentBytes } - live
        let allowed = max(Self.leastGarbage, live / 2)
        guard garbage > allowed else { return }
        let sparsest = candidates.sorted { $0.residentBytes - $0.liveBytes > $1.residentBytes - $1.liveBytes }
        for candidate in sparsest where garbage > allowed * 3 / 4 {
            let freed = candidate.residentBytes - candidate.liveBytes
            guard freed > candidate.residentBytes / 4 else { break }
            if candidate.residentBytes >= Self.sparseBytes { decision.compact.append(candidate.number) }
            garbage -= freed
        }
    }
}
