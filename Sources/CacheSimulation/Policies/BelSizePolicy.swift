//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Belady with sizes: evicts the key of the largest (time until its next use) × size. A good bound for sized traces,
/// not a proven one: the optimum is NP-hard.
///
/// Keys wait in classes of alike sizes, an eighth of an octave wide, the farthest first in each; the victim is the
/// worst of the classes' first. Keys that never come back go before all others.
///
/// - SeeAlso: Berger, Beckmann, Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object Sizes"
///   (SIGMETRICS 2018).
struct BelSizePolicy: CachePolicy {
    private let setting: PolicySetting
    /// The class of each key, and its number within the class.
    private var classes: [(index: Int, number: Int)] = []
    private var members: [[Int]]
    private var queues: [PriorityQueue<Int>]
    private(set) var used = 0

    init(_ setting: PolicySetting) {
        self.setting = setting
        // Three bits behind the leading one.
        let buckets = setting.sizes.map { Double($0).bitPattern >> 49 }
        let distinct = Set(buckets).sorted()
        let indices = Dictionary(uniqueKeysWithValues: zip(distinct, distinct.indices))
        members = .init(repeating: [], count: distinct.count)
        for (key, bucket) in buckets.enumerated() {
            let index = indices[bucket] ?? 0
            classes.append((index, members[index].count))
            members[index].append(key)
        }
        queues = members.map { PriorityQueue(keyCount: $0.count) }
    }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        let (index, number) = classes[key]
        let isHit = queues[index].contains(number)
        if !isHit {
            let size = setting.sizes[key]
            guard size <= setting.capacity else { return false }
            while used + size > setting.capacity {
                // The newcomer itself may be what is least worth keeping.
                guard evict(at: position, ifWorseThan: harm(setting.nextPositions[position], size, position)) else {
                    return false
                }
            }
            used += size
        }
        queues[index].set(number, -setting.nextPositions[position])
        return isHit
    }

    private func harm(_ next: Int, _ size: Int, _ position: Int) -> Double {
        next == .max ? .infinity : Double(next - position) * Double(size)
    }

    /// Evicts the worst key, if it is worse than that.
    private mutating func evict(at position: Int, ifWorseThan bound: Double) -> Bool {
        var worst = -1.0, chosen = 0
        for (index, queue) in queues.enumerated() {
            guard let first = queue.first else { continue }
            let harm = harm(-first.priority, setting.sizes[members[index][first.key]], position)
            if harm > worst { (worst, chosen) = (harm, index) }
        }
        guard worst > bound || worst == .infinity, let victim = queues[chosen].first?.key else { return false }
        queues[chosen].remove(victim)
        used -= setting.sizes[members[chosen][victim]]
        return true
    }
}
