//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// ARC: two LRU lists, keys seen once and keys seen twice, each with ghosts; hits on ghosts move the border between
/// them. With sizes, everything the paper counts in pages is counted in bytes.
///
/// - SeeAlso: Megiddo, Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST '03), figure 4.
struct ARCPolicy: CachePolicy {
    private static let once = 0, often = 1, onceGhost = 2, oftenGhost = 3

    private let setting: PolicySetting
    private var queues: QueueSet
    /// The paper's p: bytes that keys seen once should have.
    private var target = 0.0

    init(_ setting: PolicySetting) {
        self.setting = setting
        queues = QueueSet(queues: 4, sizes: setting.sizes)
    }

    var used: Int { queues.bytes(Self.once) + queues.bytes(Self.often) }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        let size = setting.sizes[key], capacity = setting.capacity
        switch queues.queue(of: key) {
        case Self.once, Self.often:
            queues.move(key, to: Self.often)
            return true
        case Self.onceGhost:
            let ratio = Double(queues.bytes(Self.oftenGhost)) / Double(queues.bytes(Self.onceGhost))
            target = min(Double(capacity), target + max(1, ratio) * Double(size))
            queues.remove(key)
            makeRoom(for: size, cameFromOften: false)
            queues.append(key, to: Self.often)
        case Self.oftenGhost:
            let ratio = Double(queues.bytes(Self.onceGhost)) / Double(queues.bytes(Self.oftenGhost))
            target = max(0, target - max(1, ratio) * Double(size))
            queues.remove(key)
            makeRoom(for: size, cameFromOften: true)
            queues.append(key, to: Self.often)
        default:
            guard size <= capacity else { return false }
            trimGhosts(for: size)
            makeRoom(for: size, cameFromOften: false)
            queues.append(key, to: Self.once)
        }
        return false
    }

    /// Case IV of the paper: the first list and its ghosts fit into the cache, all four lists into two.
    private mutating func trimGhosts(for size: Int) {
        let capacity = setting.capacity
        while queues.bytes(Self.once) + queues.bytes(Self.onceGhost) + size > capacity {
            if queues.removeFirst(Self.onceGhost) == nil { _ = queues.removeFirst(Self.once) }
        }
        while used + queues.bytes(Self.onceGhost) + queues.bytes(Self.oftenGhost) + size > 2 * capacity,
            queues.removeFirst(Self.oftenGhost) != nil
        {}
    }

    /// The paper's REPLACE, as often as it takes.
    private mutating func makeRoom(for size: Int, cameFromOften: Bool) {
        while used + size > setting.capacity {
            let first = Double(queues.bytes(Self.once))
            let fromOnce = queues.count(Self.once) > 0 && (first > target || (cameFromOften && first == target))
            if fromOnce || queues.count(Self.often) == 0 {
                if let victim = queues.first(Self.once) { queues.move(victim, to: Self.onceGhost) }
            } else if let victim = queues.first(Self.often) {
                queues.move(victim, to: Self.oftenGhost)
            }
        }
    }
}
