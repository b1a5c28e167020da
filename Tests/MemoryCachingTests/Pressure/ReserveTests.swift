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

@Suite struct ReserveEstimateTests {
    static let limit = 256 << 20
    /// What insertions may carry usage beyond the mark by.
    static let play = limit / 32

    @Test func beforeAnythingIsMeasuredAWholeBurstStaysFree() {
        var reserve = ReserveEstimate(countsOnRelease: true)
        let byDefault = reserve.bytes(limit: Self.limit, burst: nil, now: 0)
        #expect(byDefault == Self.limit / 4 + Self.play)
        let small = reserve.bytes(limit: Self.limit, burst: 0, now: 0)
        #expect(small == Self.limit / 8)
        let chosen = reserve.bytes(limit: Self.limit, burst: 50 << 20, now: 0)
        #expect(chosen == 50 << 20 + Self.play)
        let large = reserve.bytes(limit: Self.limit, burst: .max, now: 0)
        #expect(large == Self.limit / 2)
    }

    /// An eighth of what is released while a burst lasts is counted on, and three quarters of the burst stay free in
    /// any case.
    @Test func fasterReleaseLeavesLessFree() {
        var last = Int.max
        for mebibytesPerMillisecond in [0.3, 2.0, 8.0] {
            var reserve = ReserveEstimate(countsOnRelease: true)
            reserve.evicted(64 << 20, in: UInt64(64e6 / mebibytesPerMillisecond))
            reserve.returned(64 << 20, in: 1_000_000)
            let bytes = reserve.bytes(limit: Self.limit, burst: nil, now: 0)
            #expect(bytes < last && bytes >= Self.limit * 3 / 16 + Self.play)
            last = bytes
        }
        #expect(last == Self.limit * 3 / 16 + Self.play)
    }

    /// Where memory comes back only as the thread that has allocated it comes by, none comes during a burst.
    @Test func whatOnlyItsOwnThreadReturnsIsNotCountedOn() {
        var reserve = ReserveEstimate(countsOnRelease: false)
        reserve.evicted(64 << 20, in: 1_000_000)
        reserve.returned(64 << 20, in: 1_000_000)
        #expect(reserve.releaseRate == 0)
        let bytes = reserve.bytes(limit: Self.limit, burst: nil, now: 0)
        #expect(bytes == Self.limit / 4 + Self.play)
    }

    @Test func slowEvictionsAreNotForgottenForOneFastOne() {
        var reserve = ReserveEstimate(countsOnRelease: true)
        for _ in 0..<100 { reserve.evicted(1 << 20, in: 3_000_000) }
        let slow = reserve.releaseRate
        reserve.evicted(1 << 20, in: 10_000)
        #expect(reserve.releaseRate < slow * 1.2)
        for _ in 0..<10_000 { reserve.evicted(1 << 20, in: 100_000) }
        #expect(reserve.releaseRate > slow * 10)
    }

    @Test func evictionsOfFewEntriesTellNothingOfABurst() {
        var reserve = ReserveEstimate(countsOnRelease: true)
        for _ in 0..<100 { reserve.evicted(1 << 20, in: 1_000_000) }
        let rate = reserve.releaseRate
        #expect(rate > 0)
        for _ in 0..<100_000 { reserve.evicted(240, in: 20_000) }
        #expect(reserve.releaseRate == rate)
    }

    @Test func valuesInTheMakingStayFreeForASecond() {
        var reserve = ReserveEstimate(countsOnRelease: true)
        for thread in 0..<8 as Range<UInt> {
            reserve.inserted(8 << 20, by: thread, limit: Self.limit, now: 0)
            reserve.inserted(100, by: thread, limit: Self.limit, now: 0)
        }
        let inFlight = reserve.inFlight(now: 500_000_000)
        #expect(inFlight == 64 << 20)
        let bytes = reserve.bytes(limit: Self.limit, burst: 0, now: 500_000_000)
        #expect(bytes == 96 << 20)
        let later = reserve.bytes(limit: Self.limit, burst: 0, now: 1_000_000_000)
        #expect(later == Self.limit / 8)
    }
}

/// A governor and a cache in a process whose memory is what the cache holds, what `others` hold, and what lies free
/// until the next trim.
@Suite struct AnnouncedMemoryTests {
    final class Process: Sendable {
        static let limit = 256 << 20
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("process-\(UUID())")
        let others = Atomic(12 << 20)
        /// Of what is evicted, so many percent stay in pages that are not free as a whole.
        let percentUnreturned = Atomic(0)
        /// By cache, with what lies free of it.
        private let held = Mutex<[ObjectIdentifier: (cache: QueueCache, charged: Int)]>([:])
        private let most = Atomic(0)
        /// Two threads note: what one has read may not be stored after the other's.
        private let noting = Mutex(())
        private let path: String

        init() throws {
            let directory = root.appendingPathComponent("proc")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            path = directory.appendingPathComponent("meminfo").path
            try write()
        }

        deinit { try? FileManager.default.removeItem(at: root) }

        var used: Int { others.load(ordering: .relaxed) + held.withLock { $0.values.reduce(0) { $0 + $1.charged } } }
        var free: Int { Self.limit - used }

        /// What the cache holds is known to the kernel once it was inserted, or returned.
        func note(_ cache: QueueCache) throws {
            try noting.withLock { _ in
                let bytes = cache.bytes
                most.max(bytes, ordering: .relaxed)
                let charged = bytes + unreturned(bytes)
                held.withLock { $0[ObjectIdentifier(cache)] = (cache, charged) }
                try write()
            }
        }

        /// What all caches hold that have been noted.
        var inCaches: Int { held.withLock { $0.values.reduce(0) { $0 + $1.cache.bytes } } }

        /// What lies free of all caches.
        var holes: Int { held.withLock { $0.values.reduce(0) { $0 + $1.charged - $1.cache.bytes } } }

        /// What lies free and cannot be returned while the cache holds `bytes`.
        func unreturned(_ bytes: Int) -> Int {
            (most.load(ordering: .relaxed) - bytes) / 100 * percentUnreturned.load(ordering: .relaxed)
        }

        func write() throws {
            let text = "MemTotal: \(Self.limit >> 10) kB\nMemAvailable: \(max(0, free) >> 10) kB\n"
            let padded = text + String(repeating: "\n", count: 100 - text.utf8.count)
            let file = FileHandle(forUpdatingAtPath: path)
            if let file {
                try file.write(contentsOf: Data(padded.utf8))
                try file.close()
            } else {
                try Data(padded.utf8).write(to: URL(fileURLWithPath: path))
            }
        }
    }

    final class Trimmed: Sendable {
        let cache = Mutex<QueueCache?>(nil)
    }

    func make(
        hasCensus: Bool = false,
        in existing: Process? = nil,
        costPercent: Int = 100,
        duringTrim: @escaping @Sendable () -> Void = {}
    ) throws -> (Process, MemoryGovernor, QueueCache) {
        let process = try existing ?? Process()
        let trimmed = Trimmed()
        let governor = MemoryGovernor(
            monitor: MemoryPressureMonitor(signals: [ManualPressureSignal()]),
            gauge: MemoryGauge(SystemFiles(root: process.root.path)),
            trimAllocator: {
                duringTrim()
                let cache = trimmed.cache.withLock { $0 }
                if let cache { try? process.note(cache) }
            },
            takeCensus: {
                guard hasCensus else { return nil }
                return HeapCensus(held: process.inCaches, holes: process.holes)
            },
            residentBytes: { nil }
        )
        let cache = QueueCache(governor: governor, costPercent: costPercent)
        trimmed.cache.withLock { $0 = cache }
        return (process, governor, cache)
    }

    private final class Turn: PressureThreadClient {
        let hasEnded = DispatchSemaphore(value: 0)
        var descriptors: [PolledDescriptor] { [] }
        func turn(now: UInt64, ready: [PolledDescriptor]) -> UInt64? {
            hasEnded.signal()
            return nil
        }
    }

    /// Has the pressure thread act for `governor` no more: who is to evict nothing, or something, is the caller.
    func endWatch(of governor: MemoryGovernor) {
        PressureThread.shared.detach(governor)
        // Turns come one after the other: one of the governor's that was under way has ended then.
        let turn = Turn()
        PressureThread.shared.attach(turn)
        turn.hasEnded.wait()
        PressureThread.shared.detach(turn)
    }

    func insert(_ mebibytes: Int, into cache: QueueCache, of process: Process) throws {
        for _ in 0..<mebibytes * 4 {
            cache.insert([UInt8](repeating: 1, count: 256 << 10))
            try process.note(cache)
        }
    }

    @Test func whatIsAnnouncedIsFreeBeforeAndStaysSoUntilItIsUsed() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        try insert(300, into: cache, of: process)
        let full = cache.bytes
        let bytes = 100 << 20
        #expect(process.free < bytes)
        let (kept, free) = governor.announce(bytes)
        #expect(kept == bytes && free >= bytes && process.free >= bytes)

        // The cache may refill what is left beside, and no more.
        try insert(200, into: cache, of: process)
        #expect(process.free >= bytes && cache.bytes > 32 << 20)

        // Half of it is used: that counts once, as soon as the allocator has been asked again.
        process.others.add(50 << 20, ordering: .relaxed)
        try process.write()
        try insert(200, into: cache, of: process)
        for _ in 0..<100 where process.free >= bytes { try insert(50, into: cache, of: process) }
        #expect(process.free >= 50 << 20 && process.free < bytes)
        #expect(cache.bytes > 16 << 20)

        process.others.subtract(50 << 20, ordering: .relaxed)
        try process.write()
        governor.endAnnouncement(kept)
        try insert(300, into: cache, of: process)
        #expect(cache.bytes > full * 7 / 8)
    }

    /// From three quarters of the mark on tables are to be small rather than fast.
    @Test func memoryIsScarceNearTheMark() throws {
        let (process, governor, cache) = try make()
        try insert(60, into: cache, of: process)
        let wasScarce = governor.isScarce.load(ordering: .relaxed)
        #expect(!wasScarce)
        try insert(200, into: cache, of: process)
        let credit = cache.membership.renew(InsertionCredit(), for: cache)
        #expect(credit.isScarce)
        var shard = credit
        #expect(shard.take().isScarce && shard.isScarce)
    }

    @Test func whatEvictionsDoNotReturnIsNotTakenForUse() throws {
        let (process, governor, cache) = try make()
        try insert(300, into: cache, of: process)
        process.percentUnreturned.store(60, ordering: .relaxed)
        let (kept, free) = governor.announce(100 << 20)
        #expect(free >= 100 << 20 && process.free >= 100 << 20)
        governor.endAnnouncement(kept)
    }

    /// The pressure thread evicts meanwhile, and so does whoever inserts. What that leaves in the heap was taken for
    /// use of what is announced, so that less was made free. Beside a compiler, one process was killed that had been
    /// told of less than it announced.
    @Test func whatOtherThreadsEvictIsNotTakenForUse() throws {
        let evicting = Mutex<MemoryGovernor?>(nil)
        let (process, governor, cache) = try make {
            let governor = evicting.withLock { governor in
                defer { governor = nil }
                return governor
            }
            guard let governor else { return }
            let other = Thread { governor.evict(100 << 20) }
            other.start()
            while !other.isFinished { Thread.sleep(forTimeInterval: 0.001) }
        }
        try insert(300, into: cache, of: process)
        process.percentUnreturned.store(60, ordering: .relaxed)
        evicting.withLock { $0 = governor }
        let (kept, free) = governor.announce(110 << 20)
        #expect(evicting.withLock { $0 == nil })
        #expect(free >= 110 << 20 && process.free >= 110 << 20, "\(free >> 20) MiB")
        governor.endAnnouncement(kept)
    }

    /// As a removal handler does that waits for another thread, or an allocator on a busy machine.
    @Test func whoeverIsStuckWhileMakingRoomKeepsNobodyFromIt() throws {
        let isStuck = Atomic(false)
        let hasBegun = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0)
        let (process, governor, cache) = try make {
            guard isStuck.exchange(false, ordering: .relaxed) else { return }
            hasBegun.signal()
            end.wait()
        }
        try insert(300, into: cache, of: process)
        isStuck.store(true, ordering: .relaxed)
        let other = Thread { governor.endAnnouncement(governor.announce(80 << 20).kept) }
        other.start()
        hasBegun.wait()
        let (kept, free) = governor.announce(100 << 20)
        #expect(free >= 100 << 20 && process.free >= 100 << 20)
        governor.endAnnouncement(kept)
        end.signal()
        while !other.isFinished { Thread.sleep(forTimeInterval: 0.001) }
    }

    /// Caches with a monitor of their own have a governor of their own.
    @Test func cachesOfEveryMonitorMakeRoom() throws {
        let (process, governor, cache) = try make()
        #expect(governor.adopted() === governor)
        try insert(300, into: cache, of: process)
        let bytes = 100 << 20
        #expect(process.free < bytes)
        try MemoryReserve.withFree(bytes: bytes) { _ in
            #expect(process.free >= bytes)
            try insert(200, into: cache, of: process)
            #expect(process.free >= bytes)
        }
        try insert(200, into: cache, of: process)
        #expect(process.free < bytes)
    }

    /// A value without a cost is charged what others took. Growth beyond that, far beyond the mark, is a rise until
    /// room was made or usage has fallen; what threads are known to be making is none.
    @Test func growthThatNoChargeExplainsIsARise() {
        var ledger = AdmissionLedger(countsOnRelease: true)
        let limit = Process.limit
        #expect(ledger.observe(.init(limit: limit, used: 100), inserted: 50) == 0)
        #expect(ledger.observe(.init(limit: limit, used: 400), inserted: 50) == 250)
        #expect(ledger.observe(.init(limit: limit, used: 410), inserted: 50) == 0)
        #expect(ledger.observe(.init(limit: limit, used: 300), inserted: 0) == 0)

        var state = MemoryGovernor.State()
        let marks = MemoryMarks(limit: limit)
        let (rise, now) = (marks.leastStep + 1, 1 as UInt64)
        state.note(rise: rise, at: .init(limit: limit, used: marks.halfway), now: now)
        #expect(!state.hasRisen)
        let beyond = AdmissionLedger.Look(limit: limit, used: marks.halfway + 1)
        state.note(rise: rise - 1, at: beyond, now: now)
        #expect(!state.hasRisen)
        state.note(rise: rise, at: beyond, now: now)
        #expect(state.hasRisen)
        // Another thread that looks meanwhile finds no rise of its own.
        state.note(rise: 0, at: beyond, now: now)
        #expect(state.hasRisen)
        state.note(rise: 0, at: .init(limit: limit, used: marks.halfway), now: now)
        #expect(!state.hasRisen)
        state.reserve.inserted(8 << 20, by: 7, limit: limit, now: now)
        state.note(rise: rise, at: beyond, now: now)
        #expect(!state.hasRisen)
    }

    /// Where it was brought back to half way between mark and brink, a quarter of the reserve was missing.
    @Test func whoeverFindsARiseMakesTheWholeReserveFree() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        try insert(300, into: cache, of: process)
        for isByInsertion in [false, true] {
            process.others.add(50 << 20, ordering: .relaxed)
            try process.write()
            governor.state.withLock { $0.hasRisen = true }
            if isByInsertion {
                cache.insert([UInt8](repeating: 1, count: 256 << 10))
            } else {
                let look = AdmissionLedger.Look(limit: Process.limit, used: process.used)
                governor.carryOut(AdmissionLedger.Decision(grant: 0), at: look, makingRoom: true)
                let now = governor.now()
                // After it: how fast evictions are is measured meanwhile.
                let reserve = governor.state.withLock { $0.reserve.bytes(limit: Process.limit, burst: nil, now: now) }
                #expect(process.free >= reserve, "\(process.free >> 20) of \(reserve >> 20) MiB")
            }
            #expect(governor.state.withLock { !$0.hasRisen })
            process.others.subtract(50 << 20, ordering: .relaxed)
            try process.write()
            try insert(100, into: cache, of: process)
        }
        #expect(cache.bytes > Process.limit / 2)
    }

    @Test func whatCannotBeFreedIsNotPromised() throws {
        let (process, governor, cache) = try make()
        process.others.store(200 << 20, ordering: .relaxed)
        try process.write()
        try insert(20, into: cache, of: process)
        let (kept, free) = governor.announce(100 << 20)
        #expect(free < 100 << 20 && free >= 40 << 20)
        governor.endAnnouncement(kept)
        let nothing = governor.announce(0)
        #expect(nothing.kept == 0)
    }
}
