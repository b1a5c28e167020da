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

/// Allocators that keep what a thread has allocated for that thread, as mimalloc does.
@Suite struct HeapsOfThreadsTests {
    /// Two threads have filled the cache, and one goes on: of what is evicted for it half lies in the other's heap,
    /// where it is nobody's room and never comes back. Where holes counted, usage went more than three times as far
    /// beyond the mark as insertions carry it.
    @Test(arguments: [0.1, 0.5, 0.9]) func whoGoesOnAloneStaysAtTheMark(returnable: Double) {
        var process = ModelProcess(arenas: 2, ledger: AdmissionLedger(countsOnRelease: false))
        process.keepsToArenas = true
        process.returnable = returnable
        process.fill(1 << 30, threads: 2)
        #expect(process.live >= process.limit * 3 / 4)
        process.trimmedArena = 0
        process.fill(1 << 30, threads: 1)
        let (marks, beyond) = (process.look.marks, process.highest - process.look.marks.mark)
        #expect(beyond <= 2 * marks.play, "\(beyond >> 10) KiB, \(marks.play >> 10) of play")
        #expect(process.lowestLive >= process.limit / 4, "\(process.lowestLive >> 20) MiB")
    }

    /// Holes that the one thread finds again cost the cache nothing.
    @Test func whatFindsItsHoleLeavesTheCacheFull() {
        var process = ModelProcess(ledger: AdmissionLedger(countsOnRelease: false))
        process.fill(2 << 30, threads: 1)
        #expect(process.highest <= process.look.marks.mark + process.limit / 64)
        #expect(process.lowestLive >= process.limit * 3 / 4)
    }
}

extension AnnouncedMemoryTests {
    /// The governor's thread looks while a removal handler runs: it evicts nothing for what is being evicted for.
    @Test func whatIsBeingEvictedCountsMeanwhile() throws {
        let (process, governor, cache) = try make()
        governor.state.withLock { $0.ledger = AdmissionLedger(countsOnRelease: false) }
        process.percentUnreturned.store(100, ordering: .relaxed)
        try insert(300, into: cache, of: process)
        let evictedAgain = Mutex<[Int]>([])
        cache.afterEvictions { [unowned governor] in
            let bytes = governor.state.withLock { state in
                let look = state.look(.init(limit: Process.limit, used: process.used), now: governor.now())
                var ledger = state.ledger
                return ledger.relieve(look).evict
            }
            evictedAgain.withLock { $0.append(bytes) }
        }
        process.others.add(30 << 20, ordering: .relaxed)
        try process.write()
        // It may be the governor's thread that makes room.
        while evictedAgain.withLock({ $0.isEmpty }) { governor.makeRoom(waiting: false) }
        let all = evictedAgain.withLock { $0 }
        #expect(all.allSatisfy { $0 == 0 }, "\(all)")
    }

    /// Where nothing comes back before the others insert, looking again after each step emptied the cache.
    @Test func whatOthersMustReturnIsEvictedOnce() throws {
        let (process, governor, cache) = try make()
        governor.state.withLock { $0.ledger = AdmissionLedger(countsOnRelease: false) }
        process.percentUnreturned.store(100, ordering: .relaxed)
        try insert(300, into: cache, of: process)
        process.others.add(30 << 20, ordering: .relaxed)
        try process.write()
        let full = cache.bytes
        let goal = governor.state.withLock { state in
            state.look(.init(limit: Process.limit, used: process.used), now: governor.now()).marks.goal
        }
        for _ in 0..<100 { governor.makeRoom(waiting: false) }
        let evicted = full - cache.bytes
        #expect(evicted <= process.used - goal + 2 << 20, "\(evicted >> 20) MiB")
        #expect(cache.bytes > Process.limit / 4)
    }
}
