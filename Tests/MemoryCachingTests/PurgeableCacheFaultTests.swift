//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// Each system call refused, as some machine refuses it every day.
@Suite struct PurgeableCacheFaultTests {
    @Test func whereSealingIsRefusedValuesAreOrdinaryMemoryAndTheCacheEvictsThem() {
        let faults = FaultySystem()
        faults.refuse(.free)
        let cache = PurgeableCache<Int>(system: faults.system, ordinaryLimit: 8 << 20)
        for key in 0..<60_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        #expect(cache.store.log.volatileBytes == 0)
        #expect(cache.store.log.ordinaryBytes <= 16 << 20)
        let count = cache.count
        #expect(count > 4000 && count < 20_000)
        #expect(cache.statistics.removals(.memoryPressure) == 60_000 - count)
        #expect(cache.bytes(forKey: 59_999) == bytes(of: 59_999, count: 1000), "the oldest go, not the newest")
        var held = 0
        for key in 0..<60_000 {
            guard let found = cache.bytes(forKey: key) else { continue }
            held += 1
            #expect(found == bytes(of: key, count: 1000))
        }
        #expect(held == count)
    }

    /// What a handler was told: by cause, and how many values were untold at once.
    private struct Told {
        var counts: [RemovalCause: Int] = [:]
        var wrong = 0
    }

    @Test("The handler hears of values that leave by whole segments", arguments: [false, true])
    func segmentsAreToldOf(byRequest: Bool) {
        let faults = FaultySystem()
        faults.refuse(.free)
        let told = Mutex(Told())
        let options = MemoryCacheOptions<Int, [UInt8]>(removalHandler: { key, found, cause in
            told.withLock { told in
                told.counts[cause, default: 0] += 1
                if found != bytes(of: key, count: 1000) { told.wrong += 1 }
            }
        })
        let limit = byRequest ? Int.max : 8 << 20
        let cache = PurgeableCache<Int>(options: options, system: faults.system, ordinaryLimit: limit)
        for key in 0..<30_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        if byRequest {
            #expect(cache.count == 30_000)
            let store = cache.store
            #expect(store.evict(bytes: 16 << 20, below: .infinity) >= 16 << 20)
            #expect(store.log.ordinaryBytes <= 14 << 20)
        }
        let count = cache.count
        #expect(count > 4_000 && count < 20_000)
        #expect(told.withLock { $0.counts } == [.memoryPressure: 30_000 - count])
        #expect(told.withLock { $0.wrong } == 0)
        #expect(cache.statistics.removals(.memoryPressure) == 30_000 - count)
        #expect(cache.bytes(forKey: 29_999) == bytes(of: 29_999, count: 1000), "the oldest go, not the newest")
    }

    @Test func largeOrdinaryValuesStayWithinTheirLimit() {
        let faults = FaultySystem()
        faults.refuse(.free)
        let cache = PurgeableCache<Int>(system: faults.system, ordinaryLimit: 4 << 20)
        for key in 0..<40 { cache.setBytes(bytes(of: key, count: 1 << 20), forKey: key) }
        // What was accessed lately is warm and not yet refused; a census later it is.
        #expect(cache.totalCost <= 40 << 20)
        for key in 0..<40 {
            if let found = cache.bytes(forKey: key) { #expect(found == bytes(of: key, count: 1 << 20)) }
        }
    }

    @Test func whereMappingIsRefusedSettingIsARefusal() {
        let faults = FaultySystem()
        let cache = PurgeableCache<Int>(system: faults.system)
        cache.setBytes([1, 2, 3], forKey: 1)
        faults.refuseMappings(above: 0)
        var refused = 0
        for key in 2..<40_000 {
            let before = cache.store.counters.refusals.load(ordering: .relaxed)
            cache.setBytes(bytes(of: key, count: 1000), forKey: key)
            let wasRefused = cache.store.counters.refusals.load(ordering: .relaxed) > before
            refused += wasRefused ? 1 : 0
            #expect(cache.contains(key) != wasRefused)
        }
        #expect(refused > 0)
        cache.setBytes([UInt8](repeating: 1, count: 20 << 20), forKey: -1)
        #expect(cache.bytes(forKey: -1) == nil)
        #expect(cache.statistics.refusals == refused + 1)
        #expect(cache.bytes(forKey: 1) == [1, 2, 3])
        faults.refuseMappings(above: .max)
        cache.setBytes([4], forKey: 50_000)
        #expect(cache.bytes(forKey: 50_000) == [4])
    }

    @Test func aRefusedValueLeavesNoOlderOneBehind() {
        let faults = FaultySystem()
        let cache = PurgeableCache<Int>(system: faults.system)
        cache.setBytes([1], forKey: 1)
        faults.refuseMappings(above: 0)
        cache.setBytes([UInt8](repeating: 2, count: 20 << 20), forKey: 1)
        #expect(cache.bytes(forKey: 1) == nil)
        #expect(cache.count == 0)
    }

    @Test func whereDiscardingIsRefusedOldBytesAreOverwritten() {
        let faults = FaultySystem()
        faults.refuse(.discard)
        let cache = PurgeableCache<Int>(totalCostLimit: 2 << 20, system: faults.system)
        for key in 0..<40_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        var held = 0
        for key in 0..<40_000 {
            guard let found = cache.bytes(forKey: key) else { continue }
            held += 1
            #expect(found == bytes(of: key, count: 1000))
        }
        #expect(held == cache.count)
    }

    @Test func withoutACensusReadsStillTellTheTruth() {
        let faults = FaultySystem()
        faults.refuseResidency()
        let cache = PurgeableCache<Int>(system: faults.system)
        var random = SplitMix64(seed: 3)
        for key in 0..<10_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        cache.store.log.loseSealedPages(percent: 30, using: &random)
        var held = 0
        for key in 0..<10_000 {
            guard let found = cache.bytes(forKey: key) else { continue }
            held += 1
            #expect(found == bytes(of: key, count: 1000))
        }
        #expect(held < 10_000)
        #expect(cache.count == held)
    }

    @Test func oldKernelsWithoutPageFlagsWillDo() {
        let faults = FaultySystem()
        for advice in [PageAdvice.basePages, .hugePages, .wipeOnFork, .omitFromCoreDump] { faults.refuse(advice) }
        let cache = PurgeableCache<Int>(system: faults.system)
        for key in 0..<5000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        for key in 0..<5000 { #expect(cache.bytes(forKey: key) == bytes(of: key, count: 1000)) }
    }

    @Test func theGovernorGetsOrdinaryMemoryBack() {
        let faults = FaultySystem()
        faults.refuse(.free)
        let cache = PurgeableCache<Int>(system: faults.system)
        for key in 0..<20_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        let store = cache.store
        #expect(store.reclaimableBytes >= 18_000_000)
        let freed = store.evict(bytes: 10 << 20, below: .infinity)
        #expect(freed >= 10 << 20)
        #expect(store.log.ordinaryBytes <= 13 << 20)
        #expect(cache.count < 12_000)
        #expect(store.evict(bytes: 1 << 20, below: 0) == 0, "not at that price")
        cache.removeAll()
        #expect(store.marginalPrice == .infinity)
    }

    @Test func whatTheKernelCanTakeIsNotForSale() {
        let cache = PurgeableCache<Int>()
        for key in 0..<20_000 { cache.setBytes(bytes(of: key, count: 1000), forKey: key) }
        let store = cache.store
        #expect(store.marginalPrice == .infinity)
        #expect(store.reclaimableBytes == 0)
        #expect(store.evict(bytes: 100 << 20, below: .infinity) == 0)
        // What is being filled is not the kernel's yet, and nothing is lost when it becomes so.
        let filling = store.log.ordinaryBytes
        #expect(filling > 0 && filling <= SegmentLog.streamCount * SegmentLog.segmentBytes)
        let sealed = store.offerToKernel()
        #expect(sealed > 0 && sealed <= filling)
        #expect(store.log.ordinaryBytes <= filling - sealed)
        #expect(store.offerToKernel() == 0)
        #expect(cache.count == 20_000)
    }
}
