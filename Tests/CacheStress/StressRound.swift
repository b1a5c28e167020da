//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import Synchronization
import _CacheTestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One cache, from its first entry across both of its splits to its end, under attack.
final class StressRound<Content: StressContent>: Sendable {
    typealias Cache = MemoryCache<Content.Key, Content.Value>

    /// Keys of a round: enough for both splits.
    private static var keyCount: Int { 150_000 }
    /// Threads that set and remove, each the keys that are its own.
    private static var ownerCount: Int { 3 }
    private static var readerCount: Int { 2 }

    private let cache: Cache
    private let counters: StressCounters
    private let seed: UInt64
    private let isOver = Atomic<Bool>(false)
    /// Numbers below this have been set once.
    private let grown = Atomic<Int>(1)

    init(countLimit: Int, _ counters: StressCounters, seed: UInt64) {
        cache = Cache(countLimit: countLimit, options: .init(evictsUnderMemoryPressure: false))
        (self.counters, self.seed) = (counters, seed)
    }

    private var goesOn: Bool { !isOver.load(ordering: .relaxed) }

    /// Runs all roles until `reads` more values were verified, or `seconds` are over.
    func run(reads: Int, seconds: Double, forks: Bool) {
        let goal = counters.hits.load(ordering: .relaxed) + reads
        var workers: [StressThread] = []
        for owner in 0..<Self.ownerCount { workers.append(StressThread { self.own(owner) }) }
        for reader in 0..<Self.readerCount { workers.append(StressThread { self.read(self.random(reader + 8), .max) }) }
        workers.append(StressThread { self.attack() })
        let stopped = workers
        var others = [StressThread { self.stop(stopped) }]
        if forks { others.append(StressThread { self.fork() }) }
        let begin = ContinuousClock.now
        while counters.hits.load(ordering: .relaxed) < goal, ContinuousClock.now - begin < .seconds(seconds) {
            usleep(5000)
        }
        isOver.store(true, ordering: .relaxed)
        // First those who send signals to the others.
        for thread in others { thread.join() }
        for thread in workers { thread.join() }
        if cache.count != cache.hottestKeys().count { report("the count, or the list", cache.count) }
        cache.removeAll()
        if cache.count != 0 || cache.totalCost != 0 { report("a count or cost of nothing", cache.count) }
    }

    private func random(_ number: Int) -> SplitMix64 { SplitMix64(seed: seed &+ UInt64(number)) }

    // MARK: Roles

    /// Sets, reads and removes keys that nobody else writes: what is read is the last version or nothing, and nothing
    /// after a removal.
    private func own(_ owner: Int) {
        var random = random(owner)
        var versions = [Int](repeating: 0, count: Self.keyCount / Self.ownerCount)
        var next = 0
        var (hits, misses) = (0, 0)
        while goesOn {
            if next < versions.count, Int.random(in: 0..<4, using: &random) == 0 {
                versions[next] = 1
                let number = next * Self.ownerCount + owner
                cache.setValue(Content.value(number, version: 1), forKey: Content.key(number), cost: 1)
                next += 1
                grown.max(number, ordering: .relaxed)
            }
            guard next > 0 else { continue }
            let index = Int.random(in: 0..<next, using: &random)
            let number = index * Self.ownerCount + owner
            let key = Content.key(number)
            switch Int.random(in: 0..<32, using: &random) {
            case 0:
                cache.removeValue(forKey: key)
                if cache.value(forKey: key) != nil { report("a value that was removed", number) }
                versions[index] += 1
            case 1...4:
                versions[index] += 1
                cache.setValue(Content.value(number, version: versions[index]), forKey: key, cost: 1)
            default:
                guard let value = cache.value(forKey: key) else {
                    misses += 1
                    continue
                }
                hits += 1
                let version = Content.version(of: value, number)
                if version != versions[index] { report("version \(version ?? -1), not \(versions[index])", number) }
            }
            if hits + misses >= 1024 { flush(&hits, &misses) }
        }
        flush(&hits, &misses)
    }

    /// Reads everybody's keys, `count` at most.
    private func read(_ generator: SplitMix64, _ count: Int) {
        var random = generator
        var (hits, misses, left) = (0, 0, count)
        while goesOn, left > 0 {
            left -= 1
            let number = Int.random(in: 0..<grown.load(ordering: .relaxed), using: &random)
            if let value = cache.value(forKey: Content.key(number)) {
                hits += 1
                if Content.version(of: value, number) == nil { report("another's or a dead value", number) }
            } else {
                misses += 1
            }
            if hits + misses >= 1024 { flush(&hits, &misses) }
        }
        flush(&hits, &misses)
    }

    /// Does what concerns all entries, and has threads read that end soon.
    private func attack() {
        var random = random(100)
        while goesOn {
            counters.attacks.add(1, ordering: .relaxed)
            switch Int.random(in: 0..<40, using: &random) {
            case 0: cache.removeAll()
            case 1: cache.trim(toCount: Int.random(in: 0..<Self.keyCount, using: &random))
            case 2: cache.removeAll { _ in false }
            case 3: _ = cache.coldestKeys(100)
            case 4: _ = cache.statistics
            case 5...6: cache.countLimit = cache.countLimit == 0 ? 100_000 : 0
            case 7: cache.totalCostLimit = Int.random(in: 1000..<Self.keyCount, using: &random)
            case 8: cache.totalCostLimit = 0
            case 9...20:
                let seed = random.next()
                StressThread { self.read(SplitMix64(seed: seed), 500) }.join()
            default: usleep(useconds_t.random(in: 100..<5000, using: &random))
            }
        }
    }

    /// Stops one worker after the other where it is: a signal's handler sleeps there.
    private func stop(_ workers: [StressThread]) {
        signal(SIGUSR2) { _ in
            var time = timespec(tv_sec: 0, tv_nsec: 700_000)
            nanosleep(&time, nil)
        }
        var random = random(200)
        while goesOn {
            counters.stops.add(1, ordering: .relaxed)
            workers.randomElement(using: &random)!.interrupt(by: SIGUSR2)
            usleep(useconds_t.random(in: 200..<3000, using: &random))
        }
    }

    /// Has children of fork make a cache of their own and read it, while this process is at work in all others.
    private func fork() {
        let body = {
            let own = Cache(options: .init(evictsUnderMemoryPressure: false))
            for number in 0..<6000 { own.setValue(Content.value(number, version: 7), forKey: Content.key(number)) }
            return (0..<6000).allSatisfy { number in
                own.value(forKey: Content.key(number)).map { Content.version(of: $0, number) == 7 } ?? false
            }
        }
        // Here once: the Swift runtime makes what it needs for a type at its first use, under locks of its own, which a
        // child would find held for ever if another thread was making something at that moment.
        if !body() { report("a cache of its own", 0) }
        while goesOn {
            let outcome = inForkedChild(body)
            switch outcome {
            case .right: counters.forks.add(1, ordering: .relaxed)
            case .wrong: report("a child of fork", 0)
            case .stuck: counters.stuckForks.add(1, ordering: .relaxed)
            }
            usleep(50_000)
        }
    }

    // MARK: Counting

    private func report(_ what: String, _ number: Int) {
        if counters.wrong.add(1, ordering: .relaxed).newValue <= 10 { print("WRONG: \(what), key \(number)") }
    }

    private func flush(_ hits: inout Int, _ misses: inout Int) {
        counters.hits.add(hits, ordering: .relaxed)
        counters.misses.add(misses, ordering: .relaxed)
        (hits, misses) = (0, 0)
    }
}
