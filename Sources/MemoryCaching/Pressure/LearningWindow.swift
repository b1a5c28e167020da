//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The insertions into one cache by whose growth the sizes of its entries are learned next, and the moment where they
/// began. A pure value: no lock, no clock, no system call.
///
/// Usage is compared first, because it is known at every look. It grows by what others do, too, in this container or on
/// this machine: so what this process has in memory is asked for where usage says that there is something to learn, and
/// not before, because that is a system call. It is made without the governor's lock. Hence the two steps: a question,
/// and the answer to it. What insertions in between were charged counts as others'; of several questions of one window
/// the first that is answered counts.
struct LearningWindow: Sendable, Equatable {
    /// What was inserted: how many, their costs and what they were charged.
    struct Insertions: Sendable, Equatable {
        var count = 0
        var costs = 0
        var charged = 0
    }

    /// What a look found.
    struct Moment: Sendable, Equatable {
        var used: Int
        /// Bytes used are comparable where this is the same: see `MemoryGauge.Reading.correction`.
        var correction: Int
        /// Evictions and trims so far.
        var disturbances: Int
        /// Bytes that lie free in the heap, into which insertions may fall without any growth.
        var holes = 0
    }

    /// What to answer with the bytes that the process has in memory.
    struct Question: Sendable, Equatable {
        fileprivate let window: Int
        fileprivate let moment: Moment
        fileprivate let insertions: Insertions
        /// Growth of the process that is worth learning from.
        fileprivate let leastGrowth: Int
    }

    /// What the estimate learns.
    struct Lesson: Sendable, Equatable {
        var insertions: Int
        var costs: Double
        var growth: Int
        /// Whether nothing was evicted or returned meanwhile, nor more than an eighth of all inserted into others: what
        /// part of the growth theirs was is an estimate.
        var isUndisturbed: Bool
        /// Bytes of the insertions, at most, that are not in the growth because they were free before.
        var holes = 0
    }

    /// Growth that says nothing of itself: what others take in this time, and the kernel takes in advance.
    private static let noise = 4 << 20

    private struct Start: Sendable, Equatable {
        var moment: Moment
        let resident: Int?
        /// Bytes that all insertions of all caches had been charged.
        let charged: Int
    }

    private var start: Start?
    private var insertions = Insertions()
    /// Windows that have ended.
    private var number = 0

    /// Takes note of insertions that have been reported.
    mutating func insert(_ reported: Insertions) {
        insertions.count += reported.count
        insertions.costs += reported.costs
        insertions.charged += reported.charged
    }

    /// Whether what usage has become by `moment` is worth asking what the process has in memory, where `estimate` is
    /// what was known so far, and `unreported` bytes are granted to all caches and not reported.
    ///
    /// A shard reports when its credit is spent, and what it reports may have grown usage long before. So a window must
    /// be large beside all that is granted and not reported; growth that is large beside both is news at once.
    func question(at moment: Moment, by estimate: InsertionEstimate, unreported: Int) -> Question? {
        var leastGrowth = Int.min
        if let start = start?.moment, start.correction == moment.correction {
            let own = estimate.expected(insertions: insertions.count, costs: insertions.costs)
            if own < max(Self.noise, 4 * unreported) {
                leastGrowth = 2 * (own + unreported) + Self.noise
                guard moment.used - start.used >= leastGrowth else { return nil }
            }
        }
        return Question(window: number, moment: moment, insertions: insertions, leastGrowth: leastGrowth)
    }

    /// Ends the window where `resident`, the bytes that the process has in memory (nil where the kernel does not say),
    /// does not contradict; returns what there is to learn, which is nothing before the first window and where usage
    /// is not comparable. `charged`, what all insertions of all caches
    /// were charged so far, and `disturbances` are those up to the answer, as `resident` is.
    mutating func answer(_ question: Question, resident: Int?, charged: Int, disturbances: Int) -> Lesson? {
        // Another thread's question has been answered first.
        guard question.window == number else { return nil }
        var lesson: Lesson?
        if let start, start.moment.correction == question.moment.correction {
            let grown = question.moment.used - start.moment.used
            let ownGrowth = resident.flatMap { now in start.resident.map { now - $0 } } ?? grown
            guard ownGrowth >= question.leastGrowth else {
                // It was others: growth counts from here.
                self.start?.moment.used = question.moment.used
                return nil
            }
            // Others inserted meanwhile: this cache's part of the growth is its part of what all were charged.
            let own = question.insertions
            let all = max(charged - start.charged, own.charged, 1)
            lesson = Lesson(
                insertions: own.count,
                costs: Double(own.costs),
                growth: Int(Double(ownGrowth) * Double(own.charged) / Double(all)),
                isUndisturbed: start.moment.disturbances == disturbances && all - own.charged <= all / 8,
                holes: start.moment.holes
            )
        }
        start = Start(moment: question.moment, resident: resident, charged: charged)
        insertions.count -= question.insertions.count
        insertions.costs -= question.insertions.costs
        insertions.charged -= question.insertions.charged
        number += 1
        return lesson
    }
}
