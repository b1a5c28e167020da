//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What a ``PurgeableStore`` does bit by bit beside its insertions: segments that are being cleaned, and a sweep of the
/// index for entries of lost items.
///
/// Both take time in proportion to what the cache holds, and an insertion must not wait for that. So each insertion
/// that fills another ``SegmentLog/stepBytes`` of the log does a bit of both, as much as keeps pace with it.
struct PurgeableChores {
    /// A segment to be cleaned, in the generation that the decision was about.
    struct Cleaning {
        /// Which items stay.
        enum Keeping { case all, read, nothing }

        var segment: Int
        var generation: UInt16
        var keeps: Keeping
    }

    /// Bytes of segments that are looked through in a step. The cleaner must free what a step fills; in the segments
    /// that it chooses a third at least is dead where half as much as is alive may be dead, so that four steps free
    /// more than one fills. 64 KiB × 4 take 0.5 ms with items of 100 bytes.
    static let bytesPerStep = 4 * SegmentLog.stepBytes
    /// Entries that are looked at in a step, in 8 critical sections: 0.1 ms. Five million entries are swept while 38
    /// MiB are inserted, a sixteenth of what as many items of 100 bytes take.
    static let entriesPerStep = 8192

    var policy = SegmentPolicy()
    /// Bytes of pages lost since the policy last decided.
    var lostBytes = 0

    /// Segments to be cleaned, the next one last.
    private(set) var cleanings: [Cleaning] = []
    /// How far the next one has been looked through.
    var cleanedBytes = 0
    /// Whether entries have become stale or lost since the sweep began.
    var sweepIsDue = false
    /// Below which slot of a shard the sweep goes on; nil while there is none.
    var sweep: (shard: Int, slot: Int)?
    /// Where the next look at large values begins.
    var largeShard = 0
    var largePlace = 0

    var isAny: Bool { !cleanings.isEmpty || sweep != nil || sweepIsDue }

    /// Takes over a decision. A segment that has been begun is ended first.
    mutating func clean(_ decision: SegmentPolicy.Decision, of census: SegmentLog.Census) {
        let generations = Dictionary(
            census.segments.map { ($0.segment, $0.life.generation) },
            uniquingKeysWith: { first, _ in first }
        )
        let begun = cleanedBytes > 0 ? cleanings.last : nil
        func make(_ numbers: [Int], keeping: Cleaning.Keeping) -> [Cleaning] {
            numbers.reversed().compactMap { number in
                guard number != begun?.segment, let generation = generations[number] else { return nil }
                return Cleaning(segment: number, generation: generation, keeps: keeping)
            }
        }
        cleanings =
            make(decision.compact, keeping: .all) + make(decision.promote, keeping: .read)
            + make(decision.drop, keeping: .nothing)
        if let begun { cleanings.append(begun) }
    }

    /// Has a segment emptied next, of which nothing stays. One that has been begun is ended first.
    mutating func drop(_ segment: Int, generation: UInt16) {
        cleanings.insert(
            Cleaning(segment: segment, generation: generation, keeps: .nothing),
            at: cleanings.count - (cleanedBytes > 0 ? 1 : 0)
        )
    }

    /// Whether a segment is yet to be emptied of which nothing stays.
    func drops(_ segment: Int) -> Bool { cleanings.contains { $0.segment == segment && $0.keeps == .nothing } }

    /// The next segment to be cleaned has been.
    mutating func cleaningEnded() {
        cleanings.removeLast()
        cleanedBytes = 0
    }
}
