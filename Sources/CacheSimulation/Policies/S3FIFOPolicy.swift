//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// S3-FIFO: a small queue on trial, a main queue with reinsertion, and a ghost queue of keys that failed the trial.
///
/// Parameters are the paper's and libCacheSim's: a tenth of the space on trial, two accesses to pass, frequencies up
/// to 3, as many ghost bytes as the main queue has.
///
/// - SeeAlso: Yang et al., "FIFO queues are all you need for cache eviction" (SOSP '23).
struct S3FIFOPolicy: CachePolicy {
    private static let trial = 0, main = 1, ghost = 2

    private let setting: PolicySetting
    private let trialCapacity: Int
    private let mainCapacity: Int
    private let ghostCapacity: Int
    private var queues: QueueSet
    private var frequency: [UInt8]

    init(_ setting: PolicySetting) {
        self.setting = setting
        trialCapacity = Int(Double(setting.capacity) * 0.1)
        mainCapacity = setting.capacity - trialCapacity
        ghostCapacity = Int(Double(setting.capacity) * 0.9)
        queues = QueueSet(queues: 3, sizes: setting.sizes)
        frequency = .init(repeating: 0, count: setting.keyCount)
    }

    var used: Int { queues.bytes(Self.trial) + queues.bytes(Self.main) }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        let queue = queues.queue(of: key)
        if queue == Self.trial || queue == Self.main {
            frequency[key] = min(3, frequency[key] + 1)
            return true
        }
        let isReturning = queue == Self.ghost
        if isReturning { queues.remove(key) }
        let size = setting.sizes[key]
        guard isReturning || size < trialCapacity || (size == 1 && trialCapacity <= 1) else { return false }
        while used + size > setting.capacity { evict() }
        frequency[key] = 0
        // libCacheSim takes nothing on trial that would fill the whole trial queue.
        if isReturning {
            queues.append(key, to: Self.main)
        } else {
            queues.append(key, to: Self.trial)
        }
        return false
    }

    private mutating func evict() {
        if queues.bytes(Self.main) > mainCapacity || queues.count(Self.trial) == 0 {
            evictFromMain()
        } else {
            evictFromTrial()
        }
    }

    private mutating func evictFromTrial() {
        while let key = queues.first(Self.trial) {
            if frequency[key] >= 2 {
                frequency[key] = 0
                queues.move(key, to: Self.main)
                continue
            }
            queues.remove(key)
            let size = setting.sizes[key]
            if size <= ghostCapacity {
                while queues.bytes(Self.ghost) + size > ghostCapacity { _ = queues.removeFirst(Self.ghost) }
                queues.append(key, to: Self.ghost)
            }
            return
        }
    }

    private mutating func evictFromMain() {
        while let key = queues.first(Self.main) {
            guard frequency[key] > 0 else {
                queues.remove(key)
                return
            }
            frequency[key] -= 1
            queues.move(key, to: Self.main)
        }
    }
}
