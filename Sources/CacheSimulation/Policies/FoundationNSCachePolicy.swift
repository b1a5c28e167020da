//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The order of swift-corelibs-foundation's `NSCache`: least cost first and, among equals, the newest first; hits
/// change nothing, and the newcomer itself may be the one to go.
///
/// - SeeAlso: swift-corelibs-foundation, `Sources/Foundation/NSCache.swift`.
struct FoundationNSCachePolicy: CachePolicy {
    private struct Priority: Comparable {
        var cost: Int
        var order: Int
        static func < (left: Self, right: Self) -> Bool {
            left.cost == right.cost ? left.order > right.order : left.cost < right.cost
        }
    }

    private let setting: PolicySetting
    private var queue: PriorityQueue<Priority>
    private(set) var used = 0

    init(_ setting: PolicySetting) {
        self.setting = setting
        queue = PriorityQueue(keyCount: setting.keyCount)
    }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        if queue.contains(key) { return true }
        used += setting.sizes[key]
        queue.set(key, Priority(cost: setting.sizes[key], order: position))
        while used > setting.capacity, let victim = queue.first {
            queue.remove(victim.key)
            used -= setting.sizes[victim.key]
        }
        return false
    }
}
