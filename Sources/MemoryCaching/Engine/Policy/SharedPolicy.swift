//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import Synchronization

/// What all shards of a cache share beside the room.
///
/// In raw memory of the first shard's block: an empty cache has none of it.
@usableFromInline
struct SharedPolicy: ~Copyable {
    /// Guarded by the lock before this structure, which is a leaf: no other lock is taken under it.
    @usableFromInline var learner = PolicyLearner()
    /// L, the bits of a `Double`. It never decreases for long; see ``advanceInflation(beyond:by:)``.
    @usableFromInline let inflationBits = Atomic<UInt64>(0)
    /// The cache's membership with the governor of the process's memory; nil where it takes no part.
    @usableFromInline let membership: PressureMembership?

    @usableFromInline
    init(membership: PressureMembership?) { self.membership = membership }

    /// L: the price of a byte at the margin, and the clock by which entries age.
    @inlinable
    @inline(__always)
    var inflation: Double { Double(bitPattern: inflationBits.load(ordering: .relaxed)) }

    /// Raises L to `height` where it is lower. Bits of positive doubles compare as the doubles do.
    @inlinable
    @inline(__always)
    func raiseInflation(to height: Double) {
        if height > inflation { _ = inflationBits.max(height.bitPattern, ordering: .relaxed) }
    }

    /// Raises L, and at least from `height`, by `step`; returns it.
    ///
    /// No exchange, for which each move would wait: of two threads that raise L at once, one may undo what the other
    /// did. Each knows of its own and raises L beyond that the next time, so what is lost is the order of a few moves
    /// that were made at once.
    @inlinable
    @inline(__always)
    func advanceInflation(beyond height: Double, by step: Double) -> Double {
        let next = max(inflation, height) + step
        inflationBits.store(next.bitPattern, ordering: .relaxed)
        return next
    }

    /// Hands in a shard's evidence and brings its weights up to date.
    @usableFromInline
    static func exchange(
        _ policy: UnsafeMutablePointer<SharedPolicy>,
        _ evidence: inout PolicyEvidence,
        _ uses: inout SampledUses,
        _ weights: inout PolicyWeights,
        residents: Int
    ) {
        let lock = ShardLock(guarding: UnsafeMutableRawPointer(policy))
        lock.lock()
        policy.pointee.learner.absorb(evidence, uses, residents: residents)
        policy.pointee.learner.update(&weights)
        lock.unlock()
        evidence = PolicyEvidence()
        uses.removeAll()
    }
}
