//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// SIEVE: one queue, one bit a key, and a hand that walks from the oldest to the newest and takes the first key without
/// the bit; survivors stay where they are.
///
/// - SeeAlso: Zhang et al., "SIEVE is Simpler than LRU" (NSDI '24).
struct SIEVEPolicy: CachePolicy {
    private let setting: PolicySetting
    private var queues: QueueSet
    private var isVisited: [Bool]
    private var hand: Int?

    init(_ setting: PolicySetting) {
        self.setting = setting
        queues = QueueSet(queues: 1, sizes: setting.sizes)
        isVisited = .init(repeating: false, count: setting.keyCount)
    }

    var used: Int { queues.bytes(0) }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        if queues.queue(of: key) != nil {
            isVisited[key] = true
            return true
        }
        let size = setting.sizes[key]
        guard size <= setting.capacity else { return false }
        while used + size > setting.capacity { evict() }
        queues.append(key, to: 0)
        isVisited[key] = false
        return false
    }

    private mutating func evict() {
        guard var victim = hand ?? queues.first(0) else { return }
        while isVisited[victim] {
            isVisited[victim] = false
            guard let next = queues.after(victim) ?? queues.first(0) else { return }
            victim = next
        }
        hand = queues.after(victim)
        queues.remove(victim)
    }
}
