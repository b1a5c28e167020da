//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

// What becomes of a shard's state when its entries move to other shards; see `CacheEngine+Splitting`.
extension Shard {
    /// The heights of the least heads, of all entries and of those that cost something, as they are published.
    var leastHeights: (all: Double, costly: Double) {
        mutating get { (leastHeight(for: .memoryPressure), leastHeight(for: .costLimit)) }
    }

    /// Takes over what the policy has learned in `old`, and `ghosts`, before any entry comes, and memory for the share
    /// of one of so many heirs, which else would be asked of the kernel and moved several times over.
    @usableFromInline
    mutating func inherit(from old: UnsafeMutablePointer<Shard>, heirs: Int, _ ghosts: GhostTable) {
        base = old.pointee.base
        inflation = old.pointee.inflation
        weights = old.pointee.weights
        self.ghosts = ghosts
        storage.generation = old.pointee.storage.generation
        storage.stable = old.pointee.storage.stable
        storage.reserve(old.pointee.storage.count / heirs)
        wheel = old.pointee.wheel?.following(slots: storage.capacity)
    }

    /// Takes over what `old` has counted and not handed in yet. One of its heirs does, since all that is ever asked for
    /// is sums.
    @usableFromInline
    mutating func inheritCounts(from old: UnsafeMutablePointer<Shard>) {
        lookups = old.pointee.lookups
        exchanges = old.pointee.exchanges
        insertions = old.pointee.insertions
        counters = old.pointee.counters
        evidence = old.pointee.evidence
        uses = old.pointee.uses
        toldSampled &-= old.pointee.sampled &- old.pointee.toldSampled
        credit = old.pointee.credit
    }

    /// Says that the entries, which have moved out, are elsewhere, and that there is nothing to evict here.
    @usableFromInline
    mutating func retire() {
        isElsewhere = true
        forgetOrder()
        publish()
        deallocate()
    }

    /// Says that the entries are here.
    @usableFromInline
    mutating func open() {
        isElsewhere = false
        publish()
        publishTable()
    }

    /// Frees the memory. Entries that are still in are not deinitialised.
    mutating func deallocate() {
        storage.deallocate()
        order.deallocate()
        ghosts.deallocate()
        wheel = nil
    }
}
