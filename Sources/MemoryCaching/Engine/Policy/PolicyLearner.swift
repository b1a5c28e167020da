//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What one shard has seen since it last told the learner.
@usableFromInline
struct PolicyEvidence {
    /// Ghosts that one more stay would have turned into hits, by class: what staying longer would have earned.
    @usableFromInline var hits = SIMD4<Float>()
    /// Shares of a turnover that one more stay of the evicted would have spent, by class.
    @usableFromInline var expenses = SIMD4<Float>()
    /// First moment of density over those hits; first and second over those expenses. From the mean that moves: from a
    /// density of 1, s_cloudphysicsIO missed .005 more.
    @usableFromInline var hitDensity: Float = 0
    @usableFromInline var expenseDensity: Float = 0
    @usableFromInline var expenseSquares: Float = 0
    /// The lengths of the stays of the evicted.
    @usableFromInline var stays: Float = 0
    /// Insertions and the sum of their densities.
    @usableFromInline var insertions: Int32 = 0
    @usableFromInline var densities: Float = 0
    @usableFromInline var evictions: Int32 = 0

    @inlinable
    init() {}
}

/// Learns how much a stay is worth for each class of entry, and how much density tells, from what ghosts would have
/// earned against what keeping them would have cost.
///
/// A pure value: evidence in, weights out. One for a cache, whatever the number of its shards: learning each for
/// itself costs up to four points of misses.
///
/// Of the logarithms here, all are binary; the source's constants are for natural ones, hence ``perOctave``.
@usableFromInline
package struct PolicyLearner: Sendable {
    /// What a first stay starts at, between 1 (plain greedy-dual) and .1 (nearly S3-FIFO's small queue).
    @usableFromInline static let firstStay: Float = 0.35
    /// W
    package private(set) var classWeights = SIMD4<Float>(firstStay, 1, 1, 1)
    /// X
    package private(set) var exponent: Double = 1
    /// m in octaves; not a number before the first insertion.
    package private(set) var meanDensity: Double = .nan
    package private(set) var version: UInt32 = 1

    /// Insertions so far, 3,300 at most.
    private var insertions = 0
    private var hits = SIMD4<Double>()
    private var expenses = SIMD4<Double>()
    private var hitDensity: Double = 0
    private var expenseDensity: Double = 0
    private var expenseSquares: Double = 0
    private var evictions = 0
    /// What entries had spent unused, by class, that expired or were removed.
    private var waste = SIMD4<Double>()

    /// What the weights would be if LRU had never been ahead.
    private(set) var steadyWeights = SIMD4<Float>(firstStay, 1, 1, 1)
    private(set) var rival = RecencyRival()

    private static let perOctave = 0.693_147_180_559_945_3

    package init() {}

    /// Adds what a shard has seen; learns once an eighth of the cache has been evicted, at least 16 entries.
    @usableFromInline
    mutating func absorb(_ evidence: PolicyEvidence, _ uses: SampledUses = SampledUses(), residents: Int) {
        if evidence.insertions > 0 {
            let mean = Double(evidence.densities) / Double(evidence.insertions)
            let before = meanDensity
            if meanDensity.isNaN { meanDensity = mean }
            // The mean of all, and beyond 3,300 insertions over about so many, .0003 each.
            insertions = min(insertions + Int(evidence.insertions), 3300)
            meanDensity += min(1, Double(evidence.insertions) / Double(insertions)) * (mean - meanDensity)
            // Where all densities are equal, the shards' copies stay as they are, and nobody writes them.
            if meanDensity != before { version &+= 1 }
        }
        hits += SIMD4<Double>(evidence.hits)
        expenses += SIMD4<Double>(evidence.expenses)
        hitDensity += Double(evidence.hitDensity) * Self.perOctave
        expenseDensity += Double(evidence.expenseDensity) * Self.perOctave
        expenseSquares += Double(evidence.expenseSquares) * Self.perOctave * Self.perOctave
        evictions += Int(evidence.evictions)
        waste += SIMD4<Double>(uses.waste) * Double(SampledUses.stride)
        rival.absorb(uses)
        if evictions >= max(16, residents / 8) {
            evictions = 0
            learn()
        }
    }

    /// Corrects the weights by what the ghosts of each class would have earned and spent.
    ///
    /// What expires or is removed leaves no ghost, and so seems to have spent nothing. Where returners mostly leave so,
    /// all evidence is of first stays, and nothing can be learned from that: keys that came twice, the second time
    /// after .3 of the places, and expired 1.5 turnovers later, missed each time, where LRU missed half. So while LRU
    /// is ahead what such entries have wasted is charged to their classes, and if that is much (an eighth of the rest;
    /// no other bound was tried), only hits of first stays count, because ghosts do not know when they would have
    /// expired.
    ///
    /// At other times, and by the steady weights, it is not heeded: that a stay ended unused by itself does not say
    /// that a shorter one were better. Of 996 random streams with lifetimes, a cache of 1,000 entries missed 70 by at
    /// least 5 % less often than before, and 17 by at least 5 % more often (1.8 times at most); on the mean 1.4 % less.
    private mutating func learn() {
        rival.judge()
        let spent = expenses.sum()
        guard spent > 0 else { return }
        let isBeaten = rival.isAhead && isOfOneDensity
        let mayTrustReturners = waste.sum() <= spent / 8
        let earned = mayTrustReturners ? hits : SIMD4(hits[0], 0, 0, 0)
        for index in 0..<4 {
            let ratio = earnings(of: index, hits, expenses)
            let quickRatio = isBeaten ? earnings(of: index, earned, expenses + waste) : nil
            correctWeight(at: index, by: ratio, whileBeaten: quickRatio)
        }
        let rate = hits.sum() / spent
        let residual = hitDensity - rate * expenseDensity
        let variance = rate * (expenseSquares - expenseDensity * expenseDensity / spent)
        exponent = min(max(exponent + 0.05 * residual / (variance + 8), 0), 2)
        hits *= 0.9
        expenses *= 0.9
        waste *= 0.9
        hitDensity *= 0.9
        expenseDensity *= 0.9
        expenseSquares *= 0.9
        version &+= 1
    }

    /// What a class has earned with what it spent, in relation to all classes together. The prior of 8 hits keeps tiny
    /// caches where they started.
    private func earnings(of index: Int, _ hits: SIMD4<Double>, _ expenses: SIMD4<Double>) -> Double {
        (hits[index] + 8) / (hits.sum() / expenses.sum() * expenses[index] + 8)
    }

    /// Moves the weight of a class towards where all classes earn alike, by `ratio` to the power of the learning rate.
    ///
    /// The rate is .02, and .4, by `quickRatio`, while LRU is ahead. At .2 instead of .4, sets of 1,500 keys that are
    /// replaced each 20,000 requests cost 1.30 of LRU's misses instead of 1.22 (simulated, 2,000 entries).
    ///
    /// Even then no weight changes by more than a half at once, because few requests may speak for a large change.
    /// Without that bound, some changes of all keys cost up to .08 more misses than at .02 throughout (20,000 keys by
    /// Zipf's law with the exponent .9, all new each 10,000 requests); with it, .03 more at most and none on the mean
    /// (18 such settings, 12 streams each, simulated).
    ///
    /// Nor does a first stay shrink while LRU is ahead, unless it is longer than one that a use has bought. A ghost of
    /// a first stay that became very short tells of no hit, so the evidence would not undo that: where loops over 1,500
    /// keys follow each other, some runs missed 4 to 10 times as often as LRU, now 1.9 times, and the worst of 300 3.5
    /// times. A first stay that always grows would do better there (1.2 to 1.6), but s_cloudphysicsIO, sizes ignored,
    /// would miss 1.05 times as often with 10,000 entries, now 1.02. One that never shrank was no better: it grew to
    /// 16, and the scan that it was given to, each of whose keys came twice at once, kept a loop over .82 of 1,000
    /// places out for good in half of 20 runs (6 to 7 times LRU's misses), of 5,000 places in nearly all; now in none
    /// and in 13 of 80. Not to heed a use in the first sixteenth, eighth or quarter of a first stay changed nothing.
    ///
    /// What was learned at .4 fades by 2 % with each later correction, in favour of weights that have been learned at
    /// .02 throughout. A phase in which LRU did better would else be paid for long after it: cloudphysics_w106 with
    /// 1,290 entries misses .208, and .0070 more if nothing fades, .0015 more as it is. If the requests have changed
    /// for good, LRU is ahead again, until the steady weights have got there. At 3 %, changes of all keys cost .003
    /// more.
    private mutating func correctWeight(at index: Int, by ratio: Double, whileBeaten quickRatio: Double?) {
        func clamped(_ weight: Double) -> Float { Float(min(max(weight, 0.05), 16)) }
        let isSteady = classWeights[index] == steadyWeights[index]
        let step = FastLogarithm.power(ratio, 0.02)
        steadyWeights[index] = clamped(Double(steadyWeights[index]) * step)
        if let quickRatio {
            // A power of .1 four times, because the series is exact for small powers alone.
            let tenth = FastLogarithm.power(quickRatio, 0.1)
            let correction = min(max(tenth * tenth * tenth * tenth, 1 / 1.5), 1.5)
            let weight = classWeights[index]
            // Level 2 has twice the weight of its class.
            let least = index == 0 ? min(weight, 2 * classWeights[1]) : 0
            classWeights[index] = max(clamped(Double(weight) * correction), least)
        } else if isSteady {
            classWeights[index] = steadyWeights[index]
        } else {
            let learned = clamped(Double(classWeights[index]) * step)
            let distance = Double(steadyWeights[index] / learned)
            classWeights[index] = clamped(Double(learned) * FastLogarithm.power(distance, 0.02))
        }
    }

    /// Whether what was evicted is so much of one density that one hit is worth another. LRU knows no worth, so
    /// otherwise its hits prove nothing. The standard deviation is at most an eighth of an octave, which is 9 % of the
    /// worth.
    private var isOfOneDensity: Bool {
        let spent = expenses.sum()
        let deviation = 0.125 * Self.perOctave
        return expenseSquares * spent - expenseDensity * expenseDensity <= deviation * deviation * spent * spent
    }

    /// Brings a shard's copy up to date.
    @usableFromInline
    func update(_ weights: inout PolicyWeights) {
        guard weights.version != version else { return }
        weights.set(classWeights: classWeights)
        weights.exponent = Float(exponent)
        weights.meanDensity = Float(meanDensity)
        weights.lastDensity = -1
        weights.thinning = rival.thinning
        weights.version = version
    }
}

extension FastLogarithm {
    /// `base` to a small power, by the series of the exponential function after an exact logarithm's parabola would be
    /// too coarse: corrections of 2 % must not drift.
    static func power(_ base: Double, _ exponent: Double) -> Double {
        // ln(base) by the area hyperbolic tangent: base is a ratio near 1, and far from it only the sign matters.
        var scale = 0.0
        var reduced = base
        while reduced > 1.5 {
            reduced *= 0.5
            scale += 0.693_147_180_559_945_3
        }
        while reduced < 0.75 {
            reduced *= 2
            scale -= 0.693_147_180_559_945_3
        }
        let t = (reduced - 1) / (reduced + 1)
        let square = t * t
        let logarithm = scale + 2 * t * (1 + square / 3 + square * square / 5 + square * square * square / 7)
        let x = exponent * logarithm
        return 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4)))
    }
}
