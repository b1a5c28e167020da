//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure

/// The governor's book-keeping, without a lock, a clock or a system call in it: how much may be inserted before the
/// next look, how much must be evicted for that, and when to have free memory returned.
///
/// # Evicting is not releasing
/// An evicted value leaves a hole in the allocator's heap. The kernel goes on charging the hole; a later insertion may
/// fall into it and then costs nothing. So the bytes in use say little about what the caches hold, and two mistakes
/// lie near: to evict until usage falls (it does not, and everything goes), and to take every evicted byte for room
/// (holes in another thread's arena, or of other sizes, are of no use to this insertion, and the process is killed).
///
/// The ledger therefore keeps an account of ``holes``: bytes evicted that were neither filled again nor returned.
/// What is evicted adds to it. What is inserted without usage growing by as much has filled some, but for values in
/// place of others, which leave a hole for each that they fill. What usage falls by has been returned. And ``reuse``
/// learns which part of the insertions finds its hole:
/// - An insertion that would pass the mark needs holes; only what is missing is evicted.
/// - Beyond the mark as many bytes must be holes as usage is beyond it, and not more: the rest is the work of the
///   allocator's trim, not of eviction. Who inserts small values there leaves up to eight times as many: see
///   ``holesNeeded(_:charging:)``.
/// - Holes that nobody fills are trimmed.
/// - The account is an estimate of sizes that nobody has told. Near the mark the allocator is asked, now and then, how
///   much lies free in truth.
/// - Only in the last thirty-second before the limit does eviction go on whatever the account says.
///
/// Where an allocator keeps what each thread has freed for that thread (``countsOnRelease``), holes say nothing: those
/// of a thread that inserts no more are nobody's room, and do not come back. There eviction follows the insertions, by
/// the part of them that finds its hole: see ``missing(for:at:leaving:)``.
struct AdmissionLedger: Sendable {
    /// What the latest look found: a reading, and the marks that hold for it.
    struct Look: Sendable, Equatable {
        let reading: MemoryGauge.Reading
        let marks: MemoryMarks

        init(_ reading: MemoryGauge.Reading, reserve: Int) {
            self.reading = reading
            marks = MemoryMarks(limit: reading.limit, reserve: reserve)
        }

        init(limit: Int, used: Int, reserve: Int = 0) {
            self.init(MemoryGauge.Reading(limit: limit, used: used), reserve: reserve)
        }

        var limit: Int { reading.limit }
        var used: Int { reading.used }
        /// Bytes to the mark; negative beyond it.
        var untilMark: Int { marks.mark - used }

        /// How long until a burst from here could reach the brink, in nanoseconds: 6 GB/s, which is what two threads
        /// fill on one memory channel. Half a millisecond at least, a second at most.
        var respite: UInt64 { UInt64(min(max((marks.brink - used) / 6, 500_000), 1_000_000_000)) }
    }

    /// What an inserting thread is to do.
    struct Decision: Sendable, Equatable {
        /// Bytes that it may insert before it asks again.
        var grant: Int
        /// Bytes that it must evict before.
        var evict = 0
        /// Whether the allocator should be asked to return its free memory.
        var trims = false
        /// Whether it should where that takes little time: it is for a little.
        var trimsIfCheap = false
        /// Whether to wait until it has: the next step may be the one too far.
        var waits = false
    }

    /// Whether what one thread evicts is room for others, and comes back in a trim, though others have allocated it.
    let countsOnRelease: Bool
    /// Bytes evicted, neither filled again nor returned.
    private(set) var holes = 0
    /// Which part of what is inserted falls into holes where there are enough of them: 0…1.
    private(set) var reuse = 1.0
    private var lastUsed: Int?

    /// Nothing evicted yet.
    init(countsOnRelease: Bool = Platform.allocatorTrimsAllThreads) { self.countsOnRelease = countsOnRelease }

    /// How many bytes must be holes for each byte that usage is beyond the mark, before more small values are inserted.
    ///
    /// An evicted value leaves its hole in the arena of the thread that inserted it. A thread that inserts faster than
    /// before finds half of the holes or fewer in its own, which grows; the others' shrink by nothing, because values
    /// of many ages share their pages. So usage rises with each change of the threads' speeds, and nothing brings it
    /// back.
    /// What holes there are beyond need decides by how much: with `n` a byte it is 1 / (2 + n) of what was shifted.
    ///
    /// With 1, bursts of a quarter of 256 MiB killed 9 of 15 processes in which two to four threads inserted values of
    /// 200 to 1,000 B, and they kept less, because room was made for 20 MiB again and again. With 4 none of 15; of
    /// those with 64 MiB and four threads 5 of 16, with 6 or 8 none of 40. Values of a page and more leave whole pages;
    /// with 4, those of 64 KiB were nearly all gone at times.
    private static let mostHoles = 8

    /// Bytes that must be holes before a value that takes `charge` bytes is inserted.
    ///
    /// For each byte beyond the mark as many as such values lie in two pages. With as many as lie in one, bursts killed
    /// 2 of 30 processes in which three threads inserted values of 1,000 B, and so none of 20. With a step from 1 to
    /// the most at the size of a page, values of 4 KiB lost half of the cache whenever they were taken for a little
    /// less.
    static func holesNeeded(_ look: Look, charging charge: Int) -> Int {
        let valuesOfTwoPages = (2 * Platform.pageSize + max(1, charge) - 1) / max(1, charge)
        return max(0, -look.untilMark) * min(valuesOfTwoPages, mostHoles)
    }

    /// The bounds of a grant near the mark: 1/2048 of the limit, and an eighth of what the play leaves beside what is
    /// outstanding, so that all shards of all caches together hold no more than insertions may carry usage beyond the
    /// mark. 32 KiB are 40 µs of insertions at 1 GB/s beside 1 µs for the look; 4 KiB at least however many ask. Where
    /// the machine is short of memory, a smaller container bounds them all the same.
    static func nearGrant(_ look: Look, outstanding: Int) -> Int {
        let play = MemoryMarks(limit: look.reading.leastLimit).play
        return min(leastEviction(look.reading.leastLimit), max((play - outstanding) / 8, 4 << 10))
    }

    /// What is evicted at once at least where anything must be, for this grant and those to come: each eviction has the
    /// shards of a cache say which of their entries is the least, and with small grants that took longer than all else.
    static func leastEviction(_ limit: Int) -> Int { min(max(limit / 2048, 32 << 10), 1 << 20) }

    /// The bounds of a grant far from the mark: a 2048th of the room, so that 64 shards hold a 32nd of it; an eighth of
    /// what half the room leaves beside what is outstanding; 64 MiB at most, and 16 KiB at least however many ask.
    static func farGrant(_ look: Look, outstanding: Int) -> Int {
        min(max(min(look.untilMark / 2048, (look.untilMark / 2 - outstanding) / 8), 16 << 10), 64 << 20)
    }

    /// Takes note of a look at usage after `inserted` bytes had been spent since the last one; returns by how much usage
    /// has grown beyond that.
    ///
    /// - Parameter released: what the entries had been charged that have gone for those that were inserted, but for
    ///   evictions of the governor's: each leaves a hole and so, together, they fill none.
    @discardableResult
    mutating func observe(_ look: Look, inserted: Int, released: Int = 0) -> Int {
        defer { lastUsed = look.used }
        guard let lastUsed else { return 0 }
        let growth = look.used - lastUsed
        if growth < 0 {
            // Returned by the allocator of itself, or by somebody else: then the holes are still there, and believing
            // otherwise costs a little too much eviction, never too little.
            holes = max(0, holes + growth)
            return 0
        }
        let filled = max(0, inserted - growth)
        if inserted > 0, holes >= inserted, look.used > look.marks.near {
            reuse += (Double(filled) / Double(inserted) - reuse) / 8
        }
        holes = max(0, holes - max(0, filled - released))
        return max(0, growth - inserted)
    }

    /// Decides for a thread that wants to go on inserting while `outstanding` bytes are granted and not yet spent.
    /// What it decides to evict counts as evicted from now on, so that two threads do not evict for one need.
    ///
    /// - Parameter charge: what the insertion under way takes; at the mark that much goes at least.
    mutating func admit(_ look: Look, outstanding: Int, charging charge: Int = 0) -> Decision {
        if look.used <= look.marks.near {
            return Decision(grant: Self.farGrant(look, outstanding: outstanding))
        }
        let grant = Self.nearGrant(look, outstanding: outstanding)
        let most = max(look.marks.leastStep, min(2 * charge, MemoryMarks.leastReserve(look.limit)))
        let needed = Self.holesNeeded(look, charging: charge)
        var decision = relieve(look, leaving: needed, atMost: most)
        // At the brink every insertion asks again: what it is charged may be far from what it takes.
        decision.grant = decision.waits ? 1 : grant
        let missing = missing(for: grant, at: look, leaving: needed, outstanding: outstanding)
        let batch = missing > 0 ? max(missing, Self.leastEviction(look.limit)) : 0
        decision.evict += batch
        holes += batch
        return decision
    }

    /// Bytes that must go before a grant is inserted, of which `needed` holes are to be left.
    ///
    /// Where holes do not count, as many as the grant over the part of what is inserted that finds its hole: of two
    /// threads that had inserted as much, one goes on, and half of what is evicted for it lies in the other's heap. As
    /// much again while usage is beyond what insertions carry it by themselves, so that whole pages become free.
    /// (mimalloc, two threads, 256 MiB: where holes counted, bursts killed 16 of 24 processes, now none of 24, and one
    /// thread that went on alone kept .04 to .14 of the limit, now .35 to .49.)
    private func missing(for grant: Int, at look: Look, leaving needed: Int, outstanding: Int) -> Int {
        // What is granted already is going to be inserted, too.
        let room = max(0, look.untilMark - outstanding)
        guard !countsOnRelease else {
            let usable = Int(Double(max(0, holes - needed)) * max(reuse, 0.1))
            return min(max(0, grant - room - usable), grant)
        }
        let replaced = Int(Double(max(0, grant - room)) / max(reuse, 0.1))
        return look.untilMark < -look.marks.play ? replaced + grant : replaced
    }

    /// Decides what must go because usage is beyond the mark, whoever brought it there: `most` bytes a time, until
    /// `needed` are holes, or as many as usage is beyond the mark.
    mutating func relieve(_ look: Look, leaving needed: Int? = nil, atMost most: Int = .max) -> Decision {
        let beyond = -look.untilMark
        guard beyond > 0 else { return Decision(grant: 0) }
        var decision = Decision(grant: 0)
        decision.evict = min(max(0, (needed ?? beyond) - holes), most)
        decision.waits = look.used > look.marks.brink
        holes += decision.evict
        // A trim stops the allocator for milliseconds: for little only at the brink, or where it is cheap. Else a cache
        // of small values that came a mebibyte beyond the mark would keep eight of holes for ever.
        decision.trims = decision.waits || (beyond >= look.marks.leastRelief && holes >= look.marks.leastStep)
        decision.trimsIfCheap = holes >= look.marks.leastStep
        return decision
    }

    /// Corrects what a decision took for evicted: `bytes` were, where `asked` were asked for.
    mutating func evicted(_ bytes: Int, asked: Int = 0) {
        holes = max(0, holes.saturatingAdding(bytes - asked))
    }

    /// Takes note of what a census has found: how much of what is charged lies free. Insertions and evictions have gone
    /// on since, but the account has no better beginning.
    mutating func counted(holes: Int) { self.holes = max(0, holes) }

    /// Takes note of usage before and after a trim; returns what it brought.
    @discardableResult
    mutating func trimmed(from before: Int, to look: Look) -> Int {
        let brought = max(0, before - look.used)
        holes = max(0, holes - brought)
        lastUsed = look.used
        return brought
    }
}
