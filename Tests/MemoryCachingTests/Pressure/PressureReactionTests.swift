//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@Suite struct PressureReactionTests {
    /// A governor that hears of pressure from a signal alone: its gauge reads an empty directory.
    static func governor(_ signal: ManualPressureSignal, now: @escaping @Sendable () -> UInt64 = { 0 })
        -> MemoryGovernor
    {
        MemoryGovernor(
            monitor: MemoryPressureMonitor(signals: [signal]),
            gauge: MemoryGauge(SystemFiles(root: "/nonexistent")),
            now: now,
            trimAllocator: {},
            takeCensus: { nil },
            residentBytes: { nil }
        )
    }

    static func filled(_ governor: MemoryGovernor, price: Double = 1, bytes: Int = 1 << 24) -> QueueCache {
        let cache = QueueCache(governor: governor, price: price)
        for _ in 0..<bytes / 1024 { cache.insert([UInt8](repeating: 1, count: 1024)) }
        return cache
    }

    @Test func aWarningLeavesThreeQuartersAndCriticalAQuarter() {
        let signal = ManualPressureSignal()
        let cache = Self.filled(Self.governor(signal))
        #expect(cache.bytes == 1 << 24)
        signal.send(.warning)
        #expect(cache.bytes == 3 << 22)
        signal.send(.critical)
        #expect(cache.bytes == 3 << 20)
    }

    /// What purgeable caches are filling becomes the kernel's at a warning. It takes it or not: the others' part is no
    /// smaller for that.
    @Test(arguments: [1, 100]) func whatTheKernelMayTakeIsNotTakenForFreed(caches: Int) {
        let signal = ManualPressureSignal()
        var options = MemoryCacheOptions<Int, [UInt8]>()
        options.pressureMonitor = MemoryPressureMonitor(signals: [signal])
        let cache = MemoryCache<Int, [UInt8]>(options: options) { _, bytes in bytes.count }
        for key in 0..<4_000 { cache[key] = [UInt8](repeating: 1, count: 10_000) }
        let purgeable = (0..<caches).map { _ in PurgeableCache<Int>(options: options) }
        let value = [UInt8](repeating: 2, count: 1_000)
        for cache in purgeable { for key in 0..<900 { cache.setBytes(value, forKey: key) } }
        let held = cache.totalCost
        #expect(held == 40_000_000)
        signal.send(.warning)
        #expect(cache.totalCost <= held / 4 * 3 && cache.totalCost > held / 2)
        signal.send(.critical)
        #expect(cache.totalCost <= held / 4 && cache.totalCost > held / 8)
        // Nor is anything of theirs lost by it, where the kernel needs nothing.
        for cache in purgeable { #expect(cache.count == 900) }
    }

    /// Entries without a cost were taken for as large as the pages of the purgeable values: 50 MB had to go of 12.
    @Test func purgeablePagesAreNotTakenForEntries() {
        let signal = ManualPressureSignal()
        let monitor = MemoryPressureMonitor(signals: [signal])
        let purgeable = PurgeableCache<Int>(options: .init(pressureMonitor: monitor))
        let options = MemoryCacheOptions<Int, [UInt8]>(pressureMonitor: monitor)
        let caches = (0..<60).map { index in
            index % 2 == 0
                ? MemoryCache<Int, [UInt8]>(options: options)
                : MemoryCache<Int, [UInt8]>(options: options) { _, bytes in bytes.count }
        }
        let value = [UInt8](repeating: 1, count: 500)
        for cache in caches { for key in 0..<400 { cache[key] = value } }
        let large = [UInt8](repeating: 2, count: 100_000)
        for key in 0..<2_000 { purgeable.setBytes(large, forKey: key) }
        let asked = Mutex<[Int]>([])
        MemoryPressureReaction.setHandler { reaction in asked.withLock { $0.append(reaction.bytesAsked) } }
        signal.send(.warning)
        MemoryPressureReaction.setHandler(nil)
        // A quarter, and as much again for what an entry takes beside its bytes and for what is not known of it.
        #expect(asked.withLock { $0.count == 1 && $0[0] <= 2 * 60 * 400 * 500 / 4 }, "\(asked.withLock { $0 })")
        #expect(purgeable.count == 2_000)
    }

    @Test func normalEvictsNothing() {
        let signal = ManualPressureSignal()
        let cache = Self.filled(Self.governor(signal))
        signal.send(.normal)
        #expect(cache.bytes == 1 << 24)
        signal.send(.warning)
        let left = cache.bytes
        signal.send(.normal)
        #expect(cache.bytes == left)
    }

    @Test func whileItLastsNothingIsRefilledAndThenEverythingMayBe() {
        let signal = ManualPressureSignal()
        let cache = Self.filled(Self.governor(signal))
        signal.send(.warning)
        let ceiling = cache.bytes
        // The queue's insertions ask when they are in already.
        for _ in 0..<32_768 {
            cache.insert([UInt8](repeating: 2, count: 1024))
            #expect(cache.bytes <= ceiling + 1024)
        }
        signal.send(.normal)
        for _ in 0..<32_768 { cache.insert([UInt8](repeating: 2, count: 1024)) }
        #expect(cache.bytes >= 32 << 20)
    }

    @Test func whatIsCheapestGoesFirst() {
        let signal = ManualPressureSignal()
        let governor = Self.governor(signal)
        let cheap = Self.filled(governor, price: 1)
        let dear = Self.filled(governor, price: 10)
        signal.send(.warning)
        #expect(dear.bytes == 1 << 24 && cheap.bytes == 1 << 23)
        signal.send(.critical)
        // A quarter of what was left is 6 MiB: all of the cheap one, and the rest from the dear one.
        #expect(cheap.bytes == 0 && dear.bytes == 3 << 21)
    }

    @Test func pressureThatGoesOnAsksAgainOnceASecond() {
        let signal = ManualPressureSignal()
        let time = ManualNanoseconds()
        let cache = Self.filled(Self.governor(signal, now: { time.now }))
        signal.send(.warning)
        signal.send(.warning)
        #expect(cache.bytes == 3 << 22)
        time.advance(1_000_000_000)
        signal.send(.warning)
        #expect(cache.bytes == 9 << 20)
    }

    @Test func aReactionIsToldOnceAndCounted() throws {
        let signal = ManualPressureSignal()
        let governor = Self.governor(signal)
        let cache = Self.filled(governor)
        let told = Mutex<[MemoryPressureReaction]>([])
        MemoryPressureReaction.setHandler { reaction in told.withLock { $0.append(reaction) } }
        defer { MemoryPressureReaction.setHandler(nil) }
        signal.send(.warning)
        signal.send(.normal)
        // Other tests' governors may tell theirs meanwhile: this one's are known by their size.
        let own = told.withLock { $0 }.filter { $0.bytesAsked == 1 << 22 && $0.level == .warning }
        let reaction = try #require(own.first)
        #expect(reaction.bytesFreed == 1 << 22)
        #expect(reaction.description == "memory pressure warning: asked for 4194304 bytes, freed 4194304 in 0 ms")
        #expect(governor.statistics.reactions == 1 && governor.statistics.bytesFreed == 1 << 22)
        withExtendedLifetime(cache) {}
    }

    @Test func cachesThatAreGoneAreForgotten() {
        let signal = ManualPressureSignal()
        let governor = Self.governor(signal)
        weak var gone: QueueCache?
        do {
            let cache = Self.filled(governor)
            gone = cache
            #expect(governor.cacheCount == 1)
        }
        #expect(gone == nil)
        #expect(governor.cacheCount == 0)
        signal.send(.critical)
        #expect(governor.statistics.reactions == 0)
    }

    @Test func anEmptyCacheIsNotRegistered() {
        let governor = Self.governor(ManualPressureSignal())
        let cache = QueueCache(governor: governor)
        #expect(governor.cacheCount == 0)
        cache.insert([1])
        #expect(governor.cacheCount == 1)
    }

    @Test func oneGovernorServesAllCachesOfAMonitor() {
        let monitor = MemoryPressureMonitor(signals: [])
        let governor = MemoryGovernor.listening(to: monitor)
        #expect(MemoryGovernor.listening(to: monitor) === governor)
        #expect(MemoryGovernor.listening(to: .shared) === MemoryGovernor.shared)
        #expect(MemoryGovernor.listening(to: MemoryPressureMonitor(signals: [])) !== governor)
    }
}
