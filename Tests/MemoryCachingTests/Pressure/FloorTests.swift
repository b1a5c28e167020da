//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

/// What stays in the caches while memory that is not theirs keeps usage beyond the mark.
@Suite struct FloorTests {
    private typealias Process = AnnouncedMemoryTests.Process

    private static let floor = PressureEpisode.floor(budget: Process.limit)
    private static let marks = MemoryMarks(limit: Process.limit, reserve: Process.limit / 4 + Process.limit / 32)

    /// The governor of a process of which `others` bytes are in use beside the caches.
    private func governor(
        _ process: Process,
        others: Int,
        census: @escaping @Sendable () -> HeapCensus? = { nil },
        resident: @escaping @Sendable () -> Int? = { nil }
    ) throws -> (MemoryGovernor, MemoryPressureMonitor) {
        process.others.store(others, ordering: .relaxed)
        try process.write()
        let monitor = MemoryPressureMonitor(signals: [ManualPressureSignal()])
        let governor = MemoryGovernor(
            monitor: monitor,
            gauge: MemoryGauge(SystemFiles(root: process.root.path)),
            trimAllocator: {},
            takeCensus: census,
            residentBytes: resident
        )
        governor.adopted()
        return (governor, monitor)
    }

    /// All that could evict without an insertion.
    private func evictWhatMayGo(_ governor: MemoryGovernor) throws {
        for _ in 0..<3 {
            _ = governor.turn(now: governor.now(), ready: [])
            governor.makeRoom(waiting: false)
            let reading = try #require(governor.gauge.read(now: governor.now(), exact: true))
            let look = AdmissionLedger.Look(reading, reserve: Self.marks.reserve)
            governor.carryOut(AdmissionLedger.Decision(grant: 0, evict: 1 << 20, waits: true), at: look)
        }
    }

    /// Beyond the mark, however fast evictions turn out to be: three quarters of a burst and twice the play stay free.
    private static let usages = [201, 210, 221, 229, 240].map { $0 << 20 }

    @Test(arguments: usages, [1, 10, 500]) func whatWasJustSetStays(others: Int, count: Int) throws {
        let process = try Process()
        // The process itself takes nothing that could be the entries': they are small.
        let census: @Sendable () -> HeapCensus? = { HeapCensus(held: 1 << 20, holes: 0) }
        let (governor, monitor) = try governor(process, others: others, census: census) { 1 << 20 }
        let numbers = MemoryCache<Int, Int>(options: .init(pressureMonitor: monitor))
        let texts = MemoryCache<String, [UInt8]>(options: .init(pressureMonitor: monitor))
        let bytes = PurgeableCache<String>(options: .init(pressureMonitor: monitor))
        for round in 0..<20 {
            for key in 0..<count {
                numbers.setValue(round, forKey: key)
                texts.setValue([UInt8](repeating: 1, count: 100), forKey: "\(key)")
                bytes.setBytes([1, 2, 3], forKey: "\(key)")
            }
            try evictWhatMayGo(governor)
            #expect(numbers.count == count && texts.count == count && bytes.count == count)
            #expect((0..<count).allSatisfy { numbers.value(forKey: $0) == round })
        }
    }

    /// Costs that are no sizes in bytes say nothing of what caches hold.
    @Test(
        arguments: [201 << 20, 229 << 20, 240 << 20],
        [(1 << 20, true), (1 << 40, false), (.max, true), (.max, false)]
    )
    func costsThatClaimMoreThanThereIsTakeNothing(others: Int, claim: (cost: Int, isCounted: Bool)) throws {
        let process = try Process()
        let (cost, isCounted) = claim
        let (governor, monitor) = try governor(
            process,
            others: others,
            census: { isCounted ? HeapCensus(held: 1 << 20, holes: 0) : nil },
            resident: { 1 << 20 }
        )
        let cache = MemoryCache<Int, Int>(options: .init(pressureMonitor: monitor))
        for round in 0..<20 {
            for key in 0..<10 { cache.setValue(round, forKey: key, cost: cost) }
            try evictWhatMayGo(governor)
            #expect((0..<10).allSatisfy { cache.value(forKey: $0) == round })
        }
    }

    @Test(arguments: usages) func cachesHoldTheFloorAndNoMore(others: Int) throws {
        let process = try Process()
        let (governor, _) = try governor(process, others: others)
        let caches = (0..<3).map { _ in QueueCache(governor: governor) }
        var most = 0
        for number in 0..<600 {
            caches[number % 3].insert([UInt8](repeating: 1, count: 64 << 10))
            try process.note(caches[number % 3])
            most = max(most, caches.reduce(0) { $0 + $1.bytes })
        }
        try evictWhatMayGo(governor)
        let held = caches.reduce(0) { $0 + $1.bytes }
        #expect(held <= Self.floor && held >= Self.floor - (1 << 20), "\(held)")
        // What each shard was granted near the mark, beside the floor.
        #expect(most <= Self.floor + 3 * (1 << 20), "\(most)")
    }

    @Test func inTheLastThirtySecondEverythingGoes() throws {
        let process = try Process()
        let (governor, _) = try governor(process, others: Self.marks.last + 4096)
        let cache = QueueCache(governor: governor)
        cache.insert([1])
        try evictWhatMayGo(governor)
        #expect(cache.bytes == 0)
    }

    /// Whoever announces memory waits for it: what the caches keep besides is theirs only where there is room for both.
    @Test func whatIsAnnouncedComesBeforeTheFloor() throws {
        let process = try Process()
        let (governor, _) = try governor(process, others: 201 << 20)
        let cache = QueueCache(governor: governor)
        func fill() { for _ in 0..<100 { cache.insert([UInt8](repeating: 1, count: 64 << 10)) } }
        fill()
        #expect(cache.bytes >= Self.floor / 2)
        let few = governor.announce(16 << 20)
        #expect(cache.bytes >= Self.floor / 2)
        let many = governor.announce(48 << 20)
        #expect(cache.bytes == 0)
        governor.endAnnouncement(few.kept)
        governor.endAnnouncement(many.kept)
        fill()
        #expect(cache.bytes >= Self.floor / 2)
    }

    /// A cost of a hundredth of what a value takes, and a monitor for each cache: they may hold all that the process has
    /// taken, by the allocator's count or, where there is none, in memory.
    @Test(arguments: [true, false], [1, 2, 16])
    func whatCachesAreTakenForHoldsNoMoreThanTheFloor(hasCensus: Bool, monitors: Int) throws {
        let process = try Process()
        let resident: @Sendable () -> Int? = { process.inCaches }
        let governors = try (0..<monitors).map { _ in
            try governor(
                process,
                others: 201 << 20,
                census: { hasCensus ? HeapCensus(held: process.inCaches + 1, holes: 0) : nil },
                resident: resident
            ).0
        }
        let caches = governors.map { QueueCache(governor: $0, costPercent: 1) }
        for round in 0..<max(100, 2000 / monitors) {
            for cache in caches {
                cache.insert([UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 64 << 10))
                try process.note(cache)
            }
        }
        for governor in governors { try evictWhatMayGo(governor) }
        let held = caches.reduce(0) { $0 + $1.bytes }
        #expect(process.used < Self.marks.last && held <= 2 * Self.floor, "\(held >> 10) KiB")
    }

    /// A process that rests beside memory that stays makes room once, and looks on.
    @Test func whatNobodyCanFreeIsNotTriedEachTime() throws {
        let process = try Process()
        let trims = Atomic(0)
        process.others.store(230 << 20, ordering: .relaxed)
        try process.write()
        let time = ManualNanoseconds()
        let governor = MemoryGovernor(
            monitor: MemoryPressureMonitor(signals: [ManualPressureSignal()]),
            gauge: MemoryGauge(SystemFiles(root: process.root.path)),
            now: { time.now },
            trimAllocator: { trims.add(1, ordering: .relaxed) },
            takeCensus: { nil },
            residentBytes: { nil }
        )
        for _ in 0..<100 {
            time.advance(1_000_000)
            _ = governor.turn(now: time.now, ready: [])
        }
        let first = trims.load(ordering: .relaxed)
        #expect(first >= 1 && first <= 3)
        time.advance(ReliefPacing.pause)
        _ = governor.turn(now: time.now, ready: [])
        let second = trims.load(ordering: .relaxed)
        #expect(second > first)
        // Released meanwhile, and in use again, slower than a burst: caches may have been filled.
        for others in [183, 204] {
            process.others.store(others << 20, ordering: .relaxed)
            try process.write()
            time.advance(ReliefPacing.pause / 2 - 1)
            _ = governor.turn(now: time.now, ready: [])
        }
        #expect(trims.load(ordering: .relaxed) > second)
    }
}
