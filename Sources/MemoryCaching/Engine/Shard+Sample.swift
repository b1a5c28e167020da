//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

// What a shard notes of sampled keys, for `RecencyRival`. Out of line, because one key in 16 comes here.
extension Shard {
    /// Whether an entry takes part in the policy's sample where its key does.
    @inlinable
    func maySample(_ info: EntryInfo) -> Bool { !info.has(EntryInfo.discardable | EntryInfo.exact) }

    /// The first use in its stay of an entry whose flags are `info`. One that finds no room is not noted: a hit waits
    /// for nothing and makes no memory.
    @inlinable
    @inline(never)
    mutating func noteTouch(_ info: EntryInfo, _ hash: UInt64) {
        if maySample(info), SampledUses.includes(hash, thinning: weights.thinning), !uses.isFull {
            uses.append(.touch, hash, info.has(EntryInfo.expires) ? .unknown : .endless)
        }
    }

    /// A new entry.
    @inlinable
    @inline(never)
    mutating func noteInsertion(_ newcomer: Newcomer) {
        guard maySample(newcomer.info) else { return }
        sampled &+= 1
        note(.insertion, newcomer.hash, SampledLifetime(now: newcomer.now, deadline: newcomer.deadline.next))
    }

    /// An entry that leaves. What has been evicted may still be in the shadow; what has left for another reason would
    /// be no hit of any policy. Unless it was used in its stay, it has spent for nothing what has passed of that.
    @inlinable
    @inline(never)
    mutating func noteDeparture(of entry: EntryMeta, _ hash: UInt64, _ cause: RemovalCause) {
        guard maySample(entry.info) else { return }
        sampled &-= 1
        switch cause {
        case .countLimit, .costLimit, .memoryPressure: break
        case .discarded, .replaced: note(.removal, hash)
        case .expired, .removed:
            note(.removal, hash)
            if entry.info.has(EntryInfo.touched) { return }
            let length = entry.info.stay.length
            let passed = min(length, max(0, Float(inflation - base) - (entry.height - length)))
            uses.waste[PolicyWeights.classOf(entry.info)] += spending(entry.info, for: passed)
        }
    }

    /// A key that is removed and has no entry. Where nothing is sampled, as in order of use, the learner is not asked.
    @inlinable
    @inline(never)
    mutating func noteRemoval(_ hash: UInt64) { if sampled > 0 { note(.removal, hash) } }

    /// A new value in place of `old`, and that may be of another kind.
    @inlinable
    @inline(never)
    mutating func noteReplacement(of old: EntryMeta, by newcomer: Newcomer) {
        let isSampled = maySample(newcomer.info)
        guard maySample(old.info) != isSampled, SampledUses.includes(newcomer.hash) else { return }
        if isSampled { noteInsertion(newcomer) } else { noteDeparture(of: old, newcomer.hash, .replaced) }
    }

    /// Everything has been removed at once. A shard that holds nothing may still have departures to tell of.
    mutating func forgetSample() {
        uses.count = 0
        sampled = 0
        if toldSampled != 0 { handIn(residents: residents) }
    }

    /// Hands the uses in before they are full, so that three hits at least find room for theirs.
    @inlinable
    mutating func note(_ kind: SampledUses.Kind, _ hash: UInt64, _ lifetime: SampledLifetime = .endless) {
        guard SampledUses.includes(hash, thinning: weights.thinning) else { return }
        if uses.count >= 5 { handIn(residents: residents) }
        uses.append(kind, hash, lifetime)
    }

    /// Entries of the whole cache.
    @inlinable
    var residents: Int { room.pointee.places.load(ordering: .relaxed) }

    /// Tells the learner what has been seen here, and takes over its weights.
    @inlinable
    mutating func handIn(residents: Int) {
        uses.growth = sampled &- toldSampled
        toldSampled = sampled
        SharedPolicy.exchange(policy, &evidence, &uses, &weights, residents: residents)
    }
}
