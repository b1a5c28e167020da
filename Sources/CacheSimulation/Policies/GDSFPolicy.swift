//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// GreedyDual-Size-Frequency: priority = inflation + frequency × cost / size; the inflation is the priority of the last
/// victim. Among equal priorities the one set longest ago goes first.
///
/// - SeeAlso: Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy"
///   (HP Laboratories, 1998).
struct GDSFPolicy: CachePolicy {
    private struct Priority: Comparable {
        var value: Double
        var order: Int
        static func < (left: Self, right: Self) -> Bool {
            left.value == right.value ? left.order < right.order : left.value < right.value
        }
    }

    private let setting: PolicySetting
    private var queue: PriorityQueue<Priority>
    private var frequency: [Int32]
    private var inflation = 0.0
    private(set) var used = 0

    init(_ setting: PolicySetting) {
        self.setting = setting
        queue = PriorityQueue(keyCount: setting.keyCount)
        frequency = .init(repeating: 0, count: setting.keyCount)
    }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        if queue.contains(key) {
            frequency[key] += 1
            queue.set(key, priority(of: key, at: position))
            return true
        }
        let size = setting.sizes[key]
        guard size <= setting.capacity else { return false }
        while used + size > setting.capacity, let victim = queue.first {
            inflation = victim.priority.value
            queue.remove(victim.key)
            used -= setting.sizes[victim.key]
        }
        frequency[key] = 1
        used += size
        queue.set(key, priority(of: key, at: position))
        return false
    }

    private func priority(of key: Int, at position: Int) -> Priority {
        let cost = setting.weighsCosts ? setting.costs[key] : 1
        let worth = Double(frequency[key]) * cost / Double(setting.sizes[key])
        return Priority(value: inflation + worth, order: position)
    }
}
