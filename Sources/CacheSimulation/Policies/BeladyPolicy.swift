//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Belady's MIN: evicts the key that is needed last. No online policy can hit more often where all sizes are alike and
/// every miss is admitted.
///
/// - SeeAlso: Belady, "A study of replacement algorithms for a virtual-storage computer" (IBM Systems Journal, 1966).
struct BeladyPolicy: CachePolicy {
    private let setting: PolicySetting
    /// By how soon they are needed, negated: the farthest first.
    private var queue: PriorityQueue<Int>
    private(set) var used = 0

    init(_ setting: PolicySetting) {
        self.setting = setting
        queue = PriorityQueue(keyCount: setting.keyCount)
    }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        let isHit = queue.contains(key)
        if !isHit {
            let size = setting.sizes[key]
            guard size <= setting.capacity else { return false }
            while used + size > setting.capacity, let victim = queue.first {
                queue.remove(victim.key)
                used -= setting.sizes[victim.key]
            }
            used += size
        }
        queue.set(key, -setting.nextPositions[position])
        return isHit
    }
}
