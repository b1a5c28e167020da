//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Dispatch
import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Many threads on one cache while pages go: every byte that is read must be right.
@Suite struct PurgeableCacheConcurrencyTests {
    private static func value(_ key: Int, _ version: Int) -> [UInt8] {
        let count = [20, 100, 3000, 9000, 70_000][key % 97 == 0 ? 4 : key % 4]
        return [UInt8](repeating: UInt8(truncatingIfNeeded: key &* 7 &+ version), count: count)
    }

    /// Whether `bytes` are some version of the key's value, all of one version.
    private static func isRight(_ bytes: [UInt8], _ key: Int) -> Bool {
        bytes.count == value(key, 0).count && bytes.allSatisfy { $0 == bytes[0] }
    }

    private func stress<Key: Hashable & Sendable>(_ cache: PurgeableCache<Key>, key: @escaping @Sendable (Int) -> Key) {
        let seed = UInt64.random(in: 0 ... .max)
        print("PurgeableCacheConcurrencyTests: seed \(seed)")
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var random = SplitMix64(seed: seed &+ UInt64(thread))
            for step in 0..<6000 {
                let number = Int.random(in: 0..<3000, using: &random)
                switch Int.random(in: 0..<20, using: &random) {
                case 0..<7: cache.setBytes(Self.value(number, step), forKey: key(number))
                case 7..<17:
                    if let bytes = cache.bytes(forKey: key(number)) { #expect(Self.isRight(bytes, number)) }
                case 17:
                    cache.withBytes(forKey: key(number)) { bytes in
                        #expect(bytes.byteCount == Self.value(number, 0).count)
                    }
                case 18: cache.removeBytes(forKey: key(number))
                default:
                    if step % 64 == 0 { _ = cache.statistics }
                    if step % 1000 == 0 { cache.store.log.sealActive() }
                    if step % 1500 == 0 { cache.removeAll() }
                    if step % 256 == 0 { squeeze(cache.store.log, using: &random) }
                }
            }
        }
        // Cleaning that has begun goes on beside reads, and may evict what nobody has read.
        while cache.store.chores.isAny { cache.store.maintenance.alone { cache.store.doChores() } }
        let count = cache.count
        #expect((0..<3000).count { cache.bytes(forKey: key($0)) != nil } == count)
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.store.staleCount.load(ordering: .relaxed) == 0)
    }

    /// Has the kernel take pages of a sealed segment.
    private func squeeze(_ log: SegmentLog, using random: inout SplitMix64) {
        let pass = log.gate.enter(0)
        if let (number, _, isVolatile) = log.sealedSegmentNumbers().randomElement(using: &random), isVolatile {
            _ = PageSystem.live.advise(log.table[number].pointee.base, Segment.byteCount / 2, .pageOut)
        }
        log.gate.leave(pass)
    }

    @Test func integerKeysWithoutLimits() { stress(PurgeableCache<Int>()) { $0 } }

    @Test func integerKeysWithLimits() {
        let cache = PurgeableCache<Int>(countLimit: 1500, totalCostLimit: 3 << 20)
        stress(cache) { $0 }
        #expect(cache.totalCost <= 3 << 20)
    }

    @Test func stringKeys() { stress(PurgeableCache<String>()) { "a string that is stored on the heap \($0)" } }
}
