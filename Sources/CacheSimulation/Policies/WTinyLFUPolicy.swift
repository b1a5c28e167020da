//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// W-TinyLFU with an adaptive window: an LRU window, a segmented LRU main space behind a frequency filter, and a hill
/// climber that moves space between them. The parameters are Caffeine's.
///
/// - SeeAlso: Einziger, Friedman, Manes, "TinyLFU" (ACM TOS 13, 2017); Einziger, Eytan, Friedman, Manes, "Adaptive
///   Software Cache Management" (Middleware '18).
struct WTinyLFUPolicy: CachePolicy {
    private static let window = 0, probation = 1, protected = 2

    private let setting: PolicySetting
    private let hashes: [UInt64]
    private var queues: QueueSet
    private var sketch: FrequencySketch
    private var random = SeededGenerator(seed: 0xCAFE)
    private var windowCapacity: Double
    private var protectedCapacity: Double
    private var residents = 0
    // The climber.
    private var hits = 0
    private var requests = 0
    private var lastHitRate = 0.0
    private var step: Double

    init(_ setting: PolicySetting) {
        self.setting = setting
        hashes = setting.trace.keys.map(SeededGenerator.splitMix)
        queues = QueueSet(queues: 3, sizes: setting.sizes)
        let capacity = Double(setting.capacity)
        windowCapacity = max(1, (0.01 * capacity).rounded(.down))
        protectedCapacity = (0.8 * (capacity - windowCapacity)).rounded(.down)
        step = 0.0625 * capacity
        sketch = FrequencySketch(keys: setting.trace.isSized ? 16 : setting.capacity)
    }

    var used: Int { queues.bytes(Self.window) + queues.bytes(Self.probation) + queues.bytes(Self.protected) }

    mutating func request(_ key: Int, at position: Int) -> Bool {
        let queue = queues.queue(of: key)
        requests += 1
        if let queue {
            hits += 1
            sketch.increment(hashes[key])
            queues.move(key, to: queue == Self.probation ? Self.protected : queue)
            if queue == Self.probation { demote() }
        } else if setting.sizes[key] <= setting.capacity {
            sketch.resize(keys: residents + 1)
            sketch.increment(hashes[key])
            queues.append(key, to: Self.window)
            residents += 1
            let candidate = shrinkWindow()
            evict(from: candidate)
        }
        climb()
        return queue != nil
    }

    /// Moves what is too much for the window to probation; the first of it is the first candidate.
    private mutating func shrinkWindow() -> Int? {
        var candidate: Int?
        while Double(queues.bytes(Self.window)) > windowCapacity, let key = queues.first(Self.window) {
            queues.move(key, to: Self.probation)
            candidate = candidate ?? key
        }
        return candidate
    }

    private mutating func evict(from first: Int?) {
        var candidate = first
        var victim = queues.first(Self.probation)
        var candidatesAreInWindow = false
        while used > setting.capacity {
            if candidate == nil, !candidatesAreInWindow {
                candidate = queues.first(Self.window)
                candidatesAreInWindow = true
            }
            if victim == nil, candidate == nil {
                victim = queues.first(Self.probation) ?? queues.first(Self.protected) ?? queues.first(Self.window)
                if victim == nil { return }
            }
            guard let contender = candidate else {
                let next = victim.flatMap(queues.after)
                remove(victim)
                victim = next
                continue
            }
            let nextContender = queues.after(contender)
            if let defender = victim, defender != contender, admits(contender, over: defender) {
                victim = queues.after(defender)
                if victim == contender { victim = nextContender }
                remove(defender)
            } else {
                if victim == contender { victim = queues.after(contender) }
                remove(contender)
            }
            candidate = nextContender
        }
    }

    private mutating func remove(_ key: Int?) {
        guard let key else { return }
        queues.remove(key)
        residents -= 1
    }

    private mutating func admits(_ candidate: Int, over victim: Int) -> Bool {
        let mine = sketch.frequency(hashes[candidate]), theirs = sketch.frequency(hashes[victim])
        if mine > theirs { return true }
        // Against hash flooding, Caffeine lets one warm candidate in 128 through.
        return mine >= 6 && random.next() & 127 == 0
    }

    private mutating func demote() {
        while Double(queues.bytes(Self.protected)) > protectedCapacity, let key = queues.first(Self.protected) {
            queues.move(key, to: Self.probation)
        }
    }

    private mutating func climb() {
        guard requests >= sketch.sampleSize else { return }
        let hitRate = Double(hits) / Double(requests)
        let change = hitRate - lastHitRate
        let amount = change >= 0 ? step : -step
        let restart = 0.0625 * Double(setting.capacity) * (amount >= 0 ? 1 : -1)
        step = abs(change) >= 0.05 ? restart : 0.98 * amount
        lastHitRate = hitRate
        (hits, requests) = (0, 0)
        if amount > 0 { growWindow(by: amount.rounded(.down)) } else { shrinkWindow(by: (-amount).rounded(.down)) }
    }

    private mutating func growWindow(by amount: Double) {
        var quota = min(amount, protectedCapacity)
        protectedCapacity -= quota
        windowCapacity += quota
        demote()
        while let key = queues.first(Self.probation) ?? queues.first(Self.protected),
            quota >= Double(setting.sizes[key])
        {
            quota -= Double(setting.sizes[key])
            queues.move(key, to: Self.window)
        }
        protectedCapacity += quota
        windowCapacity -= quota
    }

    private mutating func shrinkWindow(by amount: Double) {
        var quota = min(amount, max(0, windowCapacity - 1))
        protectedCapacity += quota
        windowCapacity -= quota
        while let key = queues.first(Self.window), quota >= Double(setting.sizes[key]) {
            quota -= Double(setting.sizes[key])
            queues.move(key, to: Self.probation)
        }
        protectedCapacity -= quota
        windowCapacity += quota
    }
}
