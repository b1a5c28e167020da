//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

@testable import CacheSimulation

/// LPG-A, lazily promoted greedy-dual queues with learned weights, written down as plainly as it goes: one thread, one
/// shard, logarithms and exponentials where they stand. It is what the engine's hit ratios are compared with.
///
/// The worth of an entry is level × cost / bytes. Entries wait in FIFO queues, one per bucket of worth, each with
/// H = L + worth fixed when it is enqueued; L is the greatest H that ever left. So every queue is sorted and the victim
/// is the least of the heads. A hit sets one bit; an entry found with its bit goes round again, a level higher.
///
/// What a stay in the cache costs and earns is measured by class of entry: an evicted entry says how much one more stay
/// like its last would have spent, a ghost that comes back within that stay says what it would have earned. Classes
/// that earn more than the mean stay longer, and the exponent X of density follows the same residual.
///
/// - SeeAlso: Cao, Irani, "Cost-Aware WWW Proxy Caching Algorithms" (USITS '97), for L and H.
struct LazyGreedyDualReference: CachePolicy {
    private struct Entry {
        var price = 0.0
        var level: UInt8 = 1
        var isTouched = false
        var isFirstStay = true
        var isResident = false
    }

    private let setting: PolicySetting
    private var entries: [Entry]
    private var queues = WorthQueues()
    private var ghosts = GhostTable()
    private var weights = LearnedWeights()
    private var inflation = 0.0
    private var residents = 0
    private var evictions = 0
    private(set) var used = 0

    init(_ setting: PolicySetting) {
        self.setting = setting
        entries = .init(repeating: Entry(), count: setting.keyCount)
    }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        if entries[key].isResident {
            entries[key].isTouched = true
            return true
        }
        let size = setting.sizes[key]
        guard size <= setting.capacity else { return false }
        insert(key, size)
        return false
    }

    private mutating func insert(_ key: Int, _ size: Int) {
        let z = logDensity(of: key)
        weights.observe(z)
        let hash = SeededGenerator.splitMix(setting.trace.keys[key])
        let ghost = ghosts.take(hash)
        if let ghost {
            let win = weights.value(weights.ghostWeight(ghost.kind), z)
            if inflation - ghost.inflation <= win { weights.countHit(kind: ghost.kind, z) }
        }
        while used + size > setting.capacity { evict() }
        used += size
        residents += 1
        entries[key] = Entry(level: ghost == nil ? 1 : 3, isFirstStay: ghost == nil, isResident: true)
        enqueue(key)
    }

    private mutating func enqueue(_ key: Int) {
        let weight = weights.weight(level: entries[key].level, isFirstStay: entries[key].isFirstStay)
        let bucket = WorthQueues.bucket(weights.value(weight, logDensity(of: key)))
        entries[key].price = inflation + WorthQueues.worth(bucket)
        entries[key].isTouched = false
        queues.append(key, price: entries[key].price, to: bucket)
    }

    private mutating func evict() {
        var reenqueued = 0
        while let (key, price, bucket) = queues.removeLeast() {
            inflation = max(inflation, price)
            if entries[key].isTouched, reenqueued < 32 {
                entries[key].level = min(15, entries[key].level + 1)
                entries[key].isFirstStay = false
                enqueue(key)
                reenqueued += 1
                continue
            }
            leave(key, stay: WorthQueues.worth(bucket))
            return
        }
    }

    private mutating func leave(_ key: Int, stay: Double) {
        let kind = LearnedWeights.kind(level: entries[key].level, isFirstStay: entries[key].isFirstStay)
        let spent = ghosts.meanAge > 0 ? min(1, ghosts.meanAge / stay) * stay : stay
        weights.countEviction(kind: kind, spent * exp(-logDensity(of: key)), logDensity(of: key))
        ghosts.resize(residents: residents)
        ghosts.put(SeededGenerator.splitMix(setting.trace.keys[key]), kind: kind, inflation: inflation)
        entries[key].isResident = false
        used -= setting.sizes[key]
        residents -= 1
        evictions += 1
        if evictions >= max(16, residents / 8) {
            evictions = 0
            weights.learn()
        }
    }

    /// ln(cost / bytes).
    private func logDensity(of key: Int) -> Double {
        log((setting.weighsCosts ? max(setting.costs[key], .leastNormalMagnitude) : 1) / Double(setting.sizes[key]))
    }
}
