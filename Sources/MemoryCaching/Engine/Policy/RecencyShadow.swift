//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Keys in the order of their last use, of which the least recently used leave first: which keys a cache would hold
/// that knew nothing but recency.
///
/// Holds fingerprints, no keys and no values. A hash table of chains finds a fingerprint, a doubly linked ring orders
/// them, and both lie in two arrays: 24 to 33 bytes for each key.
struct RecencyShadow: Sendable {
    private struct Node {
        var fingerprint: UInt32 = 0
        /// The neighbours in the ring, by index. Node 0 stands between the newest and the oldest.
        var newer: UInt32 = 0
        var older: UInt32 = 0
        /// The next node in the same bucket; of an unused node, the next unused one.
        var chained: UInt32 = 0
        /// See ``SampledLifetime``.
        var end: UInt32 = 0
    }

    private var nodes: [Node] = []
    private var buckets: [UInt32] = []
    private var firstUnused: UInt32 = 0
    /// Keys held.
    private(set) var count = 0

    /// Uses a key, which becomes the newest, with a value of `lifetime` where it was not held or had expired. Returns
    /// whether it was held and had not.
    mutating func use(_ fingerprint: UInt32, _ lifetime: SampledLifetime = .endless) -> Bool {
        let found = find(fingerprint)
        let index = found != 0 ? found : makeNode(fingerprint)
        if found != 0 { detach(found) } else { count += 1 }
        attach(index)
        guard found == 0 || lifetime.isAfter(nodes[Int(index)].end) else { return true }
        nodes[Int(index)].end = lifetime.end
        return false
    }

    /// Forgets a key, if it is held.
    mutating func remove(_ fingerprint: UInt32) {
        let found = find(fingerprint)
        if found != 0 { remove(at: found) }
    }

    /// Forgets the oldest keys until `limit` are left.
    mutating func trim(to limit: Int) { while count > max(0, limit) { remove(at: nodes[0].newer) } }

    /// Forgets all keys for which `isLeaving` is true.
    mutating func removeAll(where isLeaving: (UInt32) -> Bool) {
        guard count > 0 else { return }
        var index = nodes[0].newer
        while index != 0 {
            let next = nodes[Int(index)].newer
            if isLeaving(nodes[Int(index)].fingerprint) { remove(at: index) }
            index = next
        }
    }

    // MARK: The ring

    private mutating func attach(_ index: UInt32) {
        let newest = nodes[0].older
        nodes[Int(index)].older = newest
        nodes[Int(index)].newer = 0
        nodes[Int(newest)].newer = index
        nodes[0].older = index
    }

    private mutating func detach(_ index: UInt32) {
        let (newer, older) = (nodes[Int(index)].newer, nodes[Int(index)].older)
        nodes[Int(newer)].older = older
        nodes[Int(older)].newer = newer
    }

    // MARK: The table

    private func bucket(of fingerprint: UInt32) -> Int { Int(fingerprint) & (buckets.count - 1) }

    private func find(_ fingerprint: UInt32) -> UInt32 {
        guard count > 0 else { return 0 }
        var index = buckets[bucket(of: fingerprint)]
        while index != 0, nodes[Int(index)].fingerprint != fingerprint { index = nodes[Int(index)].chained }
        return index
    }

    private mutating func remove(at index: UInt32) {
        detach(index)
        let bucket = bucket(of: nodes[Int(index)].fingerprint)
        let following = nodes[Int(index)].chained
        if buckets[bucket] == index {
            buckets[bucket] = following
        } else {
            var before = buckets[bucket]
            while nodes[Int(before)].chained != index { before = nodes[Int(before)].chained }
            nodes[Int(before)].chained = following
        }
        nodes[Int(index)].chained = firstUnused
        firstUnused = index
        count -= 1
    }

    /// A node in its bucket, not yet in the ring.
    private mutating func makeNode(_ fingerprint: UInt32) -> UInt32 {
        var index = firstUnused
        if index != 0 {
            firstUnused = nodes[Int(index)].chained
        } else {
            if nodes.count >= buckets.count { growTable() }
            // By a quarter, because an array that grows by itself doubles.
            if nodes.count == nodes.capacity { nodes.reserveCapacity(nodes.count + nodes.count / 4) }
            index = UInt32(nodes.count)
            nodes.append(Node())
        }
        let bucket = bucket(of: fingerprint)
        nodes[Int(index)].fingerprint = fingerprint
        nodes[Int(index)].chained = buckets[bucket]
        buckets[bucket] = index
        return index
    }

    /// Doubles the buckets. The first call also makes node 0.
    private mutating func growTable() {
        if nodes.isEmpty { nodes = [Node()] }
        buckets = Array(repeating: 0, count: max(16, buckets.count * 2))
        for index in 1..<nodes.count {
            let bucket = bucket(of: nodes[index].fingerprint)
            nodes[index].chained = buckets[bucket]
            buckets[bucket] = UInt32(index)
        }
    }
}
