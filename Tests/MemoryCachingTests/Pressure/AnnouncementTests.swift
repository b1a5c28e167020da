//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ForkSafety
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

    /// It waited 200 ms for its own thread each time, and evicted inside the eviction, as deep as there were entries.
    @Test func aHandlerMakesNoRoomInsideTheMakingOfRoom() throws {
        let (process, governor, cache) = try make()
        try insert(300, into: cache, of: process)
        let depth = Atomic(0)
        let deepest = Atomic(0)
        let calls = Atomic(0)
        cache.afterEvictions {
            deepest.max(depth.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            calls.add(1, ordering: .relaxed)
            if depth.load(ordering: .relaxed) < 8 { governor.endAnnouncement(governor.announce(4 << 10).kept) }
            depth.subtract(1, ordering: .relaxed)
        }
        let (kept, free) = governor.announce(100 << 20)
        #expect(free >= 100 << 20 && process.free >= 100 << 20)
        #expect(calls.load(ordering: .relaxed) > 0 && deepest.load(ordering: .relaxed) == 1)
        governor.endAnnouncement(kept)
        cache.afterEvictions {}
    }

    /// Nobody inserted any more, and usage was 2 MiB beyond the mark: 40 % of a cache of values of 50 bytes were evicted
    /// to bring it down by one.
    @Test func whereUsageRestsNothingIsEvictedForWhatCannotBeReturned() throws {
        let (process, governor, cache) = try make(hasCensus: true)
        try insert(300, into: cache, of: process)
        process.percentUnreturned.store(100, ordering: .relaxed)
        governor.evict(40 << 20)
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
