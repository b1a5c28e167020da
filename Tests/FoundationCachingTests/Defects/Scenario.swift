//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

#if canImport(Glibc)
import Glibc
#endif

// Scenarios of `Defect`; see there for the two builds of this file.

/// Each answers whether the cache does what it should.
enum Scenario {
    static func newcomersAreAdmitted() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        cache.countLimit = 10
        for number in 0..<20 { cache.setObject(Counted(), forKey: NSNumber(value: number)) }
        return (0..<20).filter { cache.object(forKey: NSNumber(value: $0)) != nil } == Array(10..<20)
    }

    static func useCounts() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        cache.totalCostLimit = 16
        for number in 0..<3 { cache.setObject(Counted(), forKey: NSNumber(value: number), cost: 5) }
        for _ in 0..<100 { _ = cache.object(forKey: 2) }
        cache.setObject(Counted(), forKey: 3, cost: 6)
        return cache.object(forKey: 2) != nil && cache.object(forKey: 3) != nil && cache.object(forKey: 0) == nil
    }

    static func giantLeavesOthersAlone() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        cache.totalCostLimit = 100
        for number in 0..<100 { cache.setObject(Counted(), forKey: NSNumber(value: number), cost: 1) }
        cache.setObject(Counted(), forKey: 100, cost: 1_000_000)
        return (0..<100).allSatisfy { cache.object(forKey: NSNumber(value: $0)) != nil }
    }

    static func freeObjectsStay() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        cache.totalCostLimit = 10
        for number in 0..<1_000 { cache.setObject(Counted(), forKey: NSNumber(value: number)) }
        cache.setObject(Counted(), forKey: 1_000, cost: 10)
        cache.setObject(Counted(), forKey: 1_001, cost: 1)
        return (0..<1_000).allSatisfy { cache.object(forKey: NSNumber(value: $0)) != nil }
    }

    static func droppedCacheFreesItsObjects() -> Bool {
        do {
            let cache = NSCache<NSNumber, Counted>()
            for number in 0..<50 { cache.setObject(Counted(), forKey: NSNumber(value: number)) }
        }
        return Counted.alive == 0
    }

    static func delegateMayUseTheCache() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        let listener = Listener()
        listener.action = { _ = cache.object(forKey: 1) }
        cache.delegate = listener
        cache.countLimit = 1
        cache.setObject(Counted(), forKey: 1)
        cache.setObject(Counted(), forKey: 2)
        return listener.told == 1
    }

    static func deinitMayUseTheCache() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        func make() -> Counted {
            let object = Counted()
            object.atEnd = { _ = cache.object(forKey: 99) }
            return object
        }
        cache.setObject(make(), forKey: 1)
        cache.setObject(make(), forKey: 1)
        cache.removeObject(forKey: 1)
        cache.setObject(make(), forKey: 1)
        cache.removeAllObjects()
        cache.countLimit = 1
        cache.setObject(make(), forKey: 1)
        cache.setObject(make(), forKey: 2)
        cache.removeAllObjects()
        return Counted.alive == 0
    }

    static func keysMayUseTheCache() -> Bool {
        let cache = NSCache<TextKey, Counted>()
        let other = TextKey("other")
        func make() -> TextKey {
            let key = TextKey("key")
            key.whenAsked = { _ = cache.object(forKey: other) }
            return key
        }
        cache.setObject(Counted(), forKey: make())
        let isFound = cache.object(forKey: make()) != nil
        cache.setObject(Counted(), forKey: make())
        cache.removeObject(forKey: make())
        return isFound && cache.object(forKey: make()) == nil
    }

    static func mutatedKeysLeave() -> Bool {
        let cache = NSCache<TextKey, Counted>()
        let keys = (0..<100).map { TextKey("\($0)") }
        for key in keys { cache.setObject(Counted(), forKey: key) }
        for key in keys { key.text += "!" }
        cache.countLimit = 50
        cache.setObject(Counted(), forKey: TextKey("new"))
        guard Counted.alive == 50 else { return false }
        let later = (0..<200).map { TextKey("later \($0)") }
        for key in later { cache.setObject(Counted(), forKey: key) }
        return Counted.alive == 50 && later.suffix(50).allSatisfy { cache.object(forKey: $0) != nil }
    }

    static func ascendingCostsAreLinear() -> Bool {
        isLinear { count in
            let keys = (0..<count).map { NSNumber(value: $0) }
            let object = Counted()
            return {
                let cache = NSCache<NSNumber, Counted>()
                for (cost, key) in keys.enumerated() { cache.setObject(object, forKey: key, cost: cost) }
            }
        }
    }

    static func identityKeysAreLinear() -> Bool {
        isLinear { count in
            let keys = (0..<count).map { _ in Counted() }
            let object = Counted()
            return {
                let cache = NSCache<Counted, Counted>()
                for key in keys { cache.setObject(object, forKey: key) }
            }
        }
    }

    /// Whether eight times the work takes less than 24 times as long: 8 if it is linear, 64 if it is quadratic. The
    /// thread's own time, because what others run beside it says nothing.
    private static func isLinear(_ prepare: (Int) -> () -> Void) -> Bool {
        func best(_ count: Int) -> Int {
            let work = prepare(count)
            func now() -> Int {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                return time.tv_sec * 1_000_000_000 + time.tv_nsec
            }
            return (0..<5).map { _ in
                let begin = now()
                work()
                return now() - begin
            }.min()!
        }
        return best(8_000) < best(1_000) * 24
    }

    static func hashableKeysAreFound() -> Bool {
        let cache = NSCache<PathKey, Counted>()
        cache.setObject(Counted(), forKey: PathKey("/a/b"))
        return cache.object(forKey: PathKey("/a/b")) != nil
    }

    static func everyRemovalIsTold() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        let listener = Listener()
        cache.delegate = listener
        for number in 0..<3 { cache.setObject(Counted(), forKey: NSNumber(value: number)) }
        cache.setObject(Counted(), forKey: 0)
        let afterReplacement = listener.told
        cache.removeObject(forKey: 0)
        let afterRemoval = listener.told
        cache.removeAllObjects()
        return (afterReplacement, afterRemoval, listener.told) == (1, 2, 4)
    }

    static func loweredLimitsTrim() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        for number in 0..<100 { cache.setObject(Counted(), forKey: NSNumber(value: number), cost: 1) }
        cache.countLimit = 50
        let byCount = Counted.alive
        cache.totalCostLimit = 10
        return (byCount, Counted.alive) == (50, 10)
    }

    static func hugeCostsAddUp() -> Bool {
        let cache = NSCache<NSNumber, Counted>()
        for number in 0..<3 { cache.setObject(Counted(), forKey: NSNumber(value: number), cost: .max) }
        return (0..<3).allSatisfy { cache.object(forKey: NSNumber(value: $0)) != nil }
    }

    /// As Foundation's own cache of compiled regular expressions is used: ten places, no costs.
    static func laterPatternsHit() -> Bool {
        let cache = NSCache<NSString, Counted>()
        cache.countLimit = 10
        return (0..<30).allSatisfy { number in
            let pattern = NSString(string: "pattern \(number)")
            cache.setObject(Counted(), forKey: pattern)
            return cache.object(forKey: pattern) != nil
        }
    }

    /// Bytes of an empty cache and of an entry, by what the process holds before and after.
    static func footprint() -> (empty: Int, entry: Int) {
        let count = 200_000
        let keys = (0..<count).map { NSNumber(value: $0) }
        let object = Counted()
        var caches: [NSCache<NSNumber, Counted>] = []
        caches.reserveCapacity(count)
        let before = residentBytes
        for _ in 0..<count { caches.append(NSCache()) }
        let empty = (residentBytes - before) / count
        let cache = NSCache<NSNumber, Counted>()
        let beforeEntries = residentBytes
        for key in keys { cache.setObject(object, forKey: key) }
        let entry = (residentBytes - beforeEntries) / count
        withExtendedLifetime((caches, cache)) {}
        return (empty, entry)
    }

    /// An empty cache of at most 300 bytes, and 0.7 of the 143 bytes an entry that Foundation takes.
    static func footprintIsSmall() -> Bool {
        let (empty, entry) = footprint()
        print("an empty cache takes \(empty) bytes, an entry \(entry)")
        return empty <= 300 && entry <= 100
    }

    /// By itself, because IntegrationTests compile this file too and see no test support.
    private static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }
}
