//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ForkSafety
import Foundation
import MemoryPressure
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

extension AnnouncedMemoryTests {
    /// A cache with a monitor of its own that is made while memory is announced filled it.
    @Test func cachesThatComeMeanwhileKeepItFree() throws {
        let (process, governor, cache) = try make()
        let bytes = 100 << 20
        try MemoryReserve.withFree(bytes: bytes) { _ in
            #expect(governor.adopted() === governor)
            try insert(300, into: cache, of: process)
            #expect(process.free >= bytes)
            // Once and not twice, however often it is asked for.
            #expect(governor.adopted() === governor)
            try insert(300, into: cache, of: process)
            #expect(process.free < 3 * bytes / 2)
        }
        try insert(300, into: cache, of: process)
        #expect(process.free < bytes)
    }

    /// A full cache lost a tenth for an announcement of one byte while 64 MiB were free.
    @Test func forWhatIsFreeNothingIsEvicted() throws {
        let (process, governor, cache) = try make()
        try insert(150, into: cache, of: process)
        endWatch(of: governor)
        // Beyond the goal of making room, and not beyond the mark.
        let reading = try #require(governor.gauge.read(now: governor.now(), exact: true))
        let marks = governor.state.withLock { $0.look(reading, now: governor.now()).marks }
        process.others.add((marks.goal + marks.mark) / 2 - process.used, ordering: .relaxed)
        try process.write()
        let held = cache.bytes
        #expect(held == 150 << 20 && process.free > 48 << 20)
        for bytes in [1, 1 << 20, 8 << 20] {
            let (kept, free) = governor.announce(bytes)
            #expect(kept == bytes && free >= bytes && cache.bytes == held)
            governor.endAnnouncement(kept)
        }
    }

    /// Each governor took what the caches of the other had filled for use by the body, so that less was kept free.
    @Test func cachesOfOtherMonitorsDoNotUseIt() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        let (_, other, second) = try make(hasCensus: true, in: process)
        #expect(governor.adopted() === governor && other.adopted() === other)
        try insert(300, into: cache, of: process)
        let bytes = 100 << 20
        try MemoryReserve.withFree(bytes: bytes) { _ in
            for _ in 0..<40 {
                try insert(10, into: second, of: process)
                try insert(10, into: cache, of: process)
                // How much lies free of the other's is known each 5 ms.
                #expect(process.free >= bytes * 3 / 4, "\(process.free >> 20) MiB")
            }
        }
        #expect(cache.bytes + second.bytes > 64 << 20)
    }

    @Test func whatOtherMonitorsCachesTakeIsNotUsed() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        let (_, other, second) = try make(hasCensus: true, in: process)
        #expect(other.adopted() === other)
        try insert(60, into: cache, of: process)
        let (kept, _) = governor.announce(50 << 20)
        try insert(40, into: second, of: process)
        let reading = try #require(governor.gauge.read(now: governor.now(), exact: true))
        governor.noteAnnounced(at: reading, now: governor.now())
        #expect(cache.bytes == 60 << 20 && second.bytes == 40 << 20)
        #expect(governor.state.withLock { $0.announcements.held } > kept * 15 / 16)
        governor.endAnnouncement(kept)
    }

    /// Each governor took all that the process holds for what its own caches do.
    @Test func aCensusIsOfTheCachesOfAllMonitors() throws {
        let (process, governor, cache) = try make(hasCensus: true, costPercent: 0)
        let (_, other, second) = try make(hasCensus: true, in: process, costPercent: 0)
        #expect(governor.adopted() === governor && other.adopted() === other)
        for _ in 0..<70 {
            try insert(1, into: cache, of: process)
            try insert(1, into: second, of: process)
        }
        for governor in [governor, other] { endWatch(of: governor) }
        // Each learns from the other.
        for round in 1...8 as ClosedRange<UInt64> {
            for governor in [governor, other] { governor.takeCensus(at: governor.now() + round << 34, .brink) }
        }
        // How it is divided between the two depends on who was measured last.
        let sizes = [cache, second].map { $0.membership.bytesPerEntry >> 10 }
        #expect(cache.count >= 256 && second.count >= 256)
        #expect(sizes.max()! < 400 && (448..<576).contains(sizes.reduce(0, +)), "\(sizes) KiB")
    }

    /// Each governor took all by which the process grew for what its own caches had taken: two bytes for one of cost.
    @Test func growthIsDividedAmongTheCachesOfAllMonitors() throws {
        let (process, governor, cache) = try make()
        let (_, other, second) = try make(in: process)
        #expect(governor.adopted() === governor && other.adopted() === other)
        for _ in 0..<40 {
            try insert(1, into: cache, of: process)
            try insert(1, into: second, of: process)
        }
        for governor in [governor, other] {
            let ratios = governor.participants().map(\.bytesPerCost)
            #expect(ratios.count == 1 && ratios[0] < 1.25, "\(ratios)")
        }
    }

    @Test func whatLiesFreeIsNotUsed() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        try insert(100, into: cache, of: process)
        let (kept, _) = governor.announce(100 << 20)
        process.percentUnreturned.store(100, ordering: .relaxed)
        let used = process.used
        let freed = governor.evict(40 << 20)
        governor.state.withLock { $0.ledger.evicted(freed) }
        try process.note(cache)
        let reading = try #require(governor.gauge.read(now: governor.now(), exact: true))
        governor.noteAnnounced(at: reading, now: governor.now())
        // Less what rounding takes.
        #expect(process.used > used - 4096 && cache.bytes == 60 << 20)
        #expect(governor.state.withLock { $0.announcements.held } > kept - 4096)
        governor.endAnnouncement(kept)
    }

    /// What is charged need not be what an eviction says that it freed. The difference, for all that came and went, was
    /// taken for use, or use was not seen.
    @Test(arguments: [25, 50, 100, 150]) func turnoverIsNotUse(costPercent: Int) throws {
        let (process, governor, cache) = try make(hasCensus: true, costPercent: costPercent)
        try insert(300, into: cache, of: process)
        let (kept, free) = governor.announce(100 << 20)
        #expect(free >= kept)
        var least = Int.max
        for _ in 0..<4000 {
            cache.insert([UInt8](repeating: 1, count: 256 << 10))
            try process.note(cache)
            least = min(least, governor.state.withLock { $0.announcements.held })
        }
        #expect(least >= kept / 4 && cache.bytes > 48 << 20, "\(least >> 20), \(cache.bytes >> 20) MiB")
        process.others.add(kept, ordering: .relaxed)
        try process.write()
        // Until the allocator is asked again.
        while governor.state.withLock({ $0.announcements.held }) > kept / 4 { try insert(1, into: cache, of: process) }
        governor.endAnnouncement(kept)
    }

    /// While another thread replaced values, what the body used did not count, and was kept free a second time: the
    /// whole cache went for it.
    @Test func whatIsUsedWhileValuesAreReplacedIsNotKeptFreeTwice() throws {
        let (process, governor, cache) = try make()
        // With what is announced less than the mark.
        try insert(60, into: cache, of: process)
        let held = cache.bytes
        let (kept, free) = governor.announce(100 << 20)
        #expect(free >= kept && cache.bytes == held)
        for _ in 0..<100 {
            process.others.add(1 << 20, ordering: .relaxed)
            try process.write()
            for _ in 0..<32 {
                cache.insert([UInt8](repeating: 1, count: 256 << 10), isReplacement: true)
                try process.note(cache)
            }
        }
        #expect(cache.bytes > held * 15 / 16, "\(cache.bytes >> 20) of \(held >> 20) MiB")
        governor.endAnnouncement(kept)
    }

    /// A value in place of another fills its hole and leaves one. It was taken for one that fills a hole, and for each
    /// something was evicted: a cache at the mark lost 53 to 71 % of its entries within 0.2 s, and none came.
    @Test(arguments: [100, 0]) func replacingValuesEvictsNothing(costPercent: Int) throws {
        let (process, governor, cache) = try make(hasCensus: true, costPercent: costPercent)
        try insert(300, into: cache, of: process)
        let held = cache.bytes
        #expect(held > Process.limit / 2)
        process.percentUnreturned.store(100, ordering: .relaxed)
        try process.note(cache)
        for _ in 0..<4000 {
            cache.insert([UInt8](repeating: 1, count: 256 << 10), isReplacement: true)
            try process.note(cache)
        }
        #expect(cache.bytes > held / 2, "\(cache.bytes >> 20) of \(held >> 20) MiB")
        withExtendedLifetime(governor) {}
    }

    /// It waited 200 ms for its own thread each time, and evicted inside the eviction, as deep as there were entries.
    @Test func aHandlerMakesNoRoomInsideTheMakingOfRoom() throws {
        let (process, governor, cache) = try make()
        try insert(300, into: cache, of: process)
        // By thread: the pressure thread evicts beside.
        let depths = Mutex<[UInt: Int]>([:])
        let deepest = Atomic(0)
        cache.afterEvictions {
            let thread = Platform.currentThreadNumber
            let depth = depths.withLock { depths in
                depths[thread, default: 0] += 1
                return depths[thread]!
            }
            deepest.max(depth, ordering: .relaxed)
            if depth < 8 { governor.endAnnouncement(governor.announce(100 << 20).kept) }
            depths.withLock { $0[thread]! -= 1 }
        }
        let (kept, free) = governor.announce(100 << 20)
        #expect(free >= 100 << 20 && process.free >= 100 << 20)
        #expect(deepest.load(ordering: .relaxed) == 1)
        governor.endAnnouncement(kept)
        cache.afterEvictions {}
    }

    /// Nobody inserted any more, and usage was 2 MiB beyond the mark: 40 % of a cache of values of 50 bytes were evicted
    /// to bring it down by one.
    @Test func whereUsageRestsNothingIsEvictedForWhatCannotBeReturned() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        try insert(300, into: cache, of: process)
        endWatch(of: governor)
        process.percentUnreturned.store(100, ordering: .relaxed)
        let freed = governor.evict(40 << 20)
        governor.state.withLock { $0.ledger.evicted(freed) }
        try process.note(cache)
        let reading = try #require(governor.gauge.read(now: governor.now(), exact: true))
        let mark = governor.state.withLock { $0.look(reading, now: governor.now()).marks.mark }
        /// Has usage rest so many MiB beyond the mark; whether room was made by evictions.
        func evicts(_ mebibytes: Int) throws -> Bool {
            process.others.add(mark + mebibytes << 20 - process.used, ordering: .relaxed)
            try process.write()
            let held = cache.bytes
            governor.makeRoom(waiting: false, atRest: true)
            return cache.bytes < held
        }
        #expect(try !evicts(3) && !evicts(9))
        // Less lies free than four times what is missing.
        #expect(try evicts(15))
    }

    /// Insertions go on while the governor's thread makes room, and usage need not fall at all.
    @Test func whoeverDoesNotWaitForRoomEvictsNoMoreThanFourTimesWhatIsMissing() throws {
        let growing = Mutex<Process?>(nil)
        let (process, governor, cache) = try make(hasCensus: true) {
            growing.withLock { _ = $0?.others.add(4 << 20, ordering: .relaxed) }
        }
        try insert(300, into: cache, of: process)
        let reading = try #require(governor.gauge.read(now: governor.now(), exact: true))
        let marks = governor.state.withLock { $0.look(reading, now: governor.now()).marks }
        process.others.add(marks.goal + 6 << 20 - process.used, ordering: .relaxed)
        try process.write()
        let held = cache.bytes
        growing.withLock { $0 = process }
        governor.makeRoom(waiting: false)
        growing.withLock { $0 = nil }
        #expect(cache.bytes < held && cache.bytes > held - 48 << 20, "\((held - cache.bytes) >> 20) MiB")
    }
}

@Suite struct AnnouncementsTests {
    /// Beside caches that hold nothing.
    private func others(_ bytes: Int) -> Announcements.Usage { .init(inUse: bytes, held: CacheHoldings()) }

    /// Announces `bytes` that are free already.
    private func open(_ bytes: Int, at inUse: Int, in announcements: inout Announcements) {
        announcements.prepare(bytes, others(inUse))
        announcements.begin(bytes, others(inUse))
    }

    @Test func whatIsUsedIsNotKeptFreeTwice() {
        var announcements = Announcements()
        open(100, at: 1000, in: &announcements)
        #expect(announcements.held == 100)
        for (inUse, held) in [(1060, 40), (1200, 0), (900, 100)] {
            announcements.note(others(inUse))
            #expect(announcements.held == held)
        }
        announcements.end(100, others(1100))
        #expect(announcements.isEmpty && announcements.held == 0)
    }

    /// Nothing is used of what room is being made for, and what one body uses too much is not another's.
    @Test func whatIsUsedBeforeABodyBeginsIsNotIts() {
        var announcements = Announcements()
        announcements.prepare(100, others(1000))
        announcements.note(others(1300))
        #expect(announcements.held == 100)
        announcements.begin(100, others(1300))
        #expect(announcements.held == 100)
        announcements.note(others(1340))
        #expect(announcements.held == 60)
        announcements.prepare(50, others(1500))
        #expect(announcements.held == 50)
        announcements.begin(50, others(1500))
        #expect(announcements.held == 50)
        announcements.note(others(1520))
        #expect(announcements.held == 30)
        announcements.end(50, others(1520))
        #expect(announcements.held == 0)
        announcements.end(100, nil)
        #expect(announcements.isEmpty && announcements.held == 0)
    }

    /// What the first has used does not count for the second, whether it is still in use or not.
    @Test func announcementsAddUp() {
        var announcements = Announcements()
        open(100, at: 1000, in: &announcements)
        open(50, at: 1030, in: &announcements)
        #expect(announcements.held == 120)
        announcements.end(100, others(1100))
        #expect(announcements.held == 50)
        announcements.note(others(1000))
        #expect(announcements.held == 50)
        announcements.end(50, nil)
        #expect(announcements.isEmpty)
    }

    /// Each body inside another that ended made what the outer one uses count as unused again.
    @Test func whatTheOuterBodyUsesIsNotTheInners() {
        var announcements = Announcements()
        open(80, at: 1000, in: &announcements)
        announcements.note(others(1080))
        for _ in 0..<3 {
            open(48, at: 1080, in: &announcements)
            #expect(announcements.held == 48)
            announcements.note(others(1120))
            #expect(announcements.held == 8)
            announcements.end(48, others(1080))
            #expect(announcements.held == 0)
        }
        // The outer one ends first.
        open(48, at: 1080, in: &announcements)
        announcements.end(80, others(1080))
        #expect(announcements.held == 48)
        announcements.note(others(1100))
        #expect(announcements.held == 28)
        announcements.end(48, others(1100))
        #expect(announcements.isEmpty && announcements.held == 0)
    }

    /// What caches have taken or given back since is not used by a body.
    @Test func whatCachesTakeIsNotUsed() {
        let caches = (0..<3).map { _ in NSObject() }
        let identities = caches.map { ObjectIdentifier($0) }
        func holding(_ entries: Int, _ costs: Int, _ bytesPerEntry: Double, _ bytesPerCost: Double)
            -> CacheHoldings.Holding
        {
            .init(entries: entries, costs: costs, bytesPerEntry: bytesPerEntry, bytesPerCost: bytesPerCost)
        }
        var before = CacheHoldings()
        before[identities[0]] = holding(1000, 0, 64, 1)
        before[identities[1]] = holding(0, 5000, 64, 2)
        var now = before
        #expect(now.growth(since: before) == 0)
        now[identities[0]] = holding(1010, 0, 100, 1)
        now[identities[1]] = holding(0, 4000, 64, 1.5)
        now[identities[2]] = holding(3, 0, 200, 1)
        // Entries that became larger on average may be others than those before: what those held is what they were taken for.
        #expect(now.growth(since: before) == 37_000 - 1500 + 600)
        #expect(before.growth(since: now) == -640 + 2000 - 600)
        now[identities[0]] = nil
        #expect(now.growth(since: before) == -64_000 - 1500 + 600)

        var announcements = Announcements()
        announcements.prepare(100, .init(inUse: 200_000, held: before))
        announcements.begin(100, .init(inUse: 200_000, held: before))
        announcements.note(.init(inUse: 200_000 - 64_900 + 70, held: now))
        #expect(announcements.held == 30)
    }
}

@Suite struct MemoryReserveTests {
    struct Failure: Error {}

    @Test func callsReturnWhatTheBodyReturnsAndThrowWhatItThrows() async {
        #expect(MemoryReserve.withFree(bytes: 1 << 20) { free in free > 0 })
        #expect(throws: Failure.self) { try MemoryReserve.withFree(bytes: 0) { _ throws(Failure) in throw Failure() } }
        let nested = MemoryReserve.withFree(bytes: 1 << 20) { _ in MemoryReserve.withFree(bytes: -1) { $0 } }
        #expect(nested >= 0)
        let awaited = await MemoryReserve.withFree(bytes: 1 << 20) { free async in
            await Task.yield()
            return free
        }
        #expect(awaited > 0)
        await #expect(throws: Failure.self) {
            try await MemoryReserve.withFree(bytes: 1) { _ async throws(Failure) in throw Failure() }
        }
    }
}
