//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Least recently used goes first.
struct LRUPolicy: CachePolicy {
    private let setting: PolicySetting
    private var queues: QueueSet

    init(_ setting: PolicySetting) {
        self.setting = setting
        queues = QueueSet(queues: 1, sizes: setting.sizes)
    }

    var used: Int { queues.bytes(0) }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        if queues.queue(of: key) != nil {
            queues.move(key, to: 0)
            return true
        }
        let size = setting.sizes[key]
        guard size <= setting.capacity else { return false }
        while used + size > setting.capacity { _ = queues.removeFirst(0) }
        queues.append(key, to: 0)
        return false
    }
}
