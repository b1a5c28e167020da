//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Testing

@testable import MemoryCaching

@Suite struct PurgeableCacheTests {
    /// Bytes that differ by length and key.
    static func value(_ key: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ key &* 7 &+ $0 >> 8) }
    }

    @Test(arguments: [0, 1, 63, 64, 2039, 2040, 2041, 2047, 2048, 4087, 4088, 4089, 4095, 4096, 4097, 65535, 65536])
    func valuesOfEverySizeComeBack(size: Int) {
        let cache = PurgeableCache<Int>()
        for key in 0..<20 { cache.setBytes(Self.value(key, size), forKey: key) }
        for key in 0..<20 { #expect(cache.bytes(forKey: key) == Self.value(key, size)) }
        #expect(cache.count == 20)
        #expect(cache.totalCost == 20 * size)
    }

    @Test(arguments: [1 << 20, 16 << 20]) func largeValuesComeBack(size: Int) {
        let cache = PurgeableCache<String>()
        let value = Self.value(3, size)
        cache.setBytes(value, forKey: "a")
        cache.setBytes(value.dropFirst(), forKey: "b")
        #expect(cache.bytes(forKey: "a") == value)
        #expect(cache.bytes(forKey: "b") == Array(value.dropFirst()))
        #expect(cache.withBytes(forKey: "b") { $0.byteCount } == size - 1)
        #expect(cache.totalCost == 2 * size - 1)
        #expect(cache.removeBytes(forKey: "a"))
        #expect(cache.bytes(forKey: "a") == nil)
        #expect(cache.totalCost == size - 1)
    }

    @Test func zerosComeBack() {
        let cache = PurgeableCache<UInt64>()
        for size in [1, 4096, 50_000] {
            cache.setBytes([UInt8](repeating: 0, count: size), forKey: 0)
            #expect(cache.bytes(forKey: 0) == [UInt8](repeating: 0, count: size))
        }
    }

    @Test func spansAndLazyCollectionsAreTaken() {
        let cache = PurgeableCache<Int>()
        let array = Self.value(1, 300)
        cache.setBytes(array.span.bytes, forKey: 1)
        cache.setBytes(array.lazy.map { $0 &+ 1 }, forKey: 2)
        #expect(cache.bytes(forKey: 1) == array)
        #expect(cache.bytes(forKey: 2) == array.map { $0 &+ 1 })
    }

    @Test func replacementRemovalAndContainment() {
        let cache = PurgeableCache<String>(name: "pages")
        #expect(cache.name == "pages")
        cache.setBytes([1], forKey: "a")
        cache.setBytes([2, 3], forKey: "a")
        #expect(cache.bytes(forKey: "a") == [2, 3])
        #expect(cache.count == 1)
        #expect(cache.totalCost == 2)
        #expect(cache.contains("a"))
        #expect(cache.removeBytes(forKey: "a"))
        #expect(!cache.removeBytes(forKey: "a"))
        #expect(!cache.contains("a"))
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        let statistics = cache.statistics
        #expect(statistics.insertions == 2)
        #expect(statistics.hits == 1)
        #expect(statistics.removals(.replaced) == 1)
        #expect(statistics.removals(.removed) == 1)
    }

    @Test func borrowedBytesAreTypedInTheirErrors() {
        struct Refused: Error, Equatable {}
        let cache = PurgeableCache<Int>()
        cache.setBytes([5, 6], forKey: 1)
        #expect(cache.withBytes(forKey: 1) { $0.unsafeLoad(fromByteOffset: 1, as: UInt8.self) } == 6)
        #expect(cache.withBytes(forKey: 2) { $0.byteCount } == nil)
        #expect(throws: Refused()) {
            try cache.withBytes(forKey: 1) { (_: RawSpan) throws(Refused) -> Int in throw Refused() }
        }
    }

    @Test func theNewcomerStaysAndLimitsHoldAfterEveryCall() {
        let cache = PurgeableCache<Int>(countLimit: 10, totalCostLimit: 1000)
        for key in 0..<1000 {
            cache.setBytes(Self.value(key, key % 300), forKey: key)
            #expect(cache.contains(key))
            #expect(cache.count <= 10)
            #expect(cache.totalCost <= 1000)
        }
        cache.countLimit = 3
        #expect(cache.count == 3)
        cache.totalCostLimit = 1
        #expect(cache.totalCost <= 1)
        cache.countLimit = 0
        cache.totalCostLimit = 0
        for key in 0..<100 { cache.setBytes([1, 2], forKey: key) }
        #expect(cache.count >= 100)
        cache.trim(toCount: 50)
        #expect(cache.count == 50)
        cache.trim(toCost: 20)
        #expect(cache.totalCost == 20)
    }

    @Test func smallCachesEvictInOrderAndSpareWhatWasRead() {
        let cache = PurgeableCache<String>(countLimit: 3)
        for key in ["a", "b", "c"] { cache.setBytes([1], forKey: key) }
        _ = cache.bytes(forKey: "a")
        cache.setBytes([1], forKey: "d")
        #expect(!cache.contains("b"))
        #expect(cache.contains("a") && cache.contains("c") && cache.contains("d"))
        cache.setBytes([1], forKey: "e")
        #expect(!cache.contains("c"))
    }

    @Test func whatIsLargerThanTheLimitIsRefusedAlone() {
        let cache = PurgeableCache<Int>(totalCostLimit: 100)
        cache.setBytes(Self.value(1, 60), forKey: 1)
        cache.setBytes(Self.value(2, 101), forKey: 2)
        #expect(cache.bytes(forKey: 2) == nil)
        #expect(cache.bytes(forKey: 1) == Self.value(1, 60))
        #expect(cache.statistics.refusals == 1)
        cache.setBytes(Self.value(1, 200), forKey: 1)
        #expect(cache.bytes(forKey: 1) == nil, "the older value is out of date")
        #expect(cache.count == 0)
    }

    @Test func everythingGoesAtOnce() {
        let cache = PurgeableCache<Int>()
        for key in 0..<20_000 { cache.setBytes(Self.value(key, 100), forKey: key) }
        cache.setBytes(Self.value(0, 100_000), forKey: -1)
        #expect(cache.count == 20_001)
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.bytes(forKey: 5) == nil)
        #expect(cache.statistics.volatileBytes == 0)
        cache.setBytes([1], forKey: 5)
        #expect(cache.bytes(forKey: 5) == [1])
    }

    @Test("An update runs again when so much was written meanwhile that a place in the log could be another value's")
    func updateBesideManySegments() {
        let cache = PurgeableCache<Int>()
        cache.setBytes([1], forKey: 1)
        let filler = [UInt8](repeating: 7, count: LogLocation.maximumByteCount)
        var runs = 0
        cache.updateBytes(forKey: 1) { bytes in
            runs += 1
            if runs == 1 {
                let sealed = cache.store.log.sealedSegments
                // Each value takes the place of the one before, so that segments are emptied and filled again.
                while cache.store.log.sealedSegments - sealed < LogLocation.generationCount - 4 {
                    cache.setBytes(filler, forKey: 2)
                }
            }
            bytes = [(bytes?[0] ?? 100) + 1]
        }
        #expect(runs == 2)
        #expect(cache.bytes(forKey: 1) == [2])
    }

    @Test("An update of bytes that lie in pages of their own runs once, however much is written meanwhile")
    func updateOfLargeBytes() {
        let cache = PurgeableCache<Int>()
        cache.setBytes([UInt8](repeating: 1, count: 100_000), forKey: 1)
        let filler = [UInt8](repeating: 7, count: LogLocation.maximumByteCount)
        var runs = 0
        cache.updateBytes(forKey: 1) { bytes in
            runs += 1
            let sealed = cache.store.log.sealedSegments
            while runs < 3, cache.store.log.sealedSegments - sealed < LogLocation.generationCount {
                cache.setBytes(filler, forKey: 2)
            }
            bytes?[0] += 1
        }
        #expect(runs == 1)
        #expect(cache.bytes(forKey: 1)?[0] == 2)
    }
}
