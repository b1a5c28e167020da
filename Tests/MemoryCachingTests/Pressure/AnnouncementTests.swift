//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

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
