//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import PurgeableMemory

/// What the kernel may refuse, refused: values then are ordinary memory, and right.
@Suite struct RefusalTests {
    private let content = pattern(5 * PageSize.base + 7)

    /// EINVAL of locked memory, EPERM of a filter, ENOSYS of a kernel without.
    @Test(arguments: [22, 1, 38] as [CInt]) func refusedSealsMakeOrdinaryMemory(error: CInt) {
        let faults = FaultySystem()
        faults.refuse(.free, with: error)
        let pool = PurgeablePool(system: faults.system)
        let bytes = PurgeableBytes(copying: content, pool: pool)
        #expect(bytes.countsAsOrdinaryMemory)
        #expect(pool.usage.ordinaryByteCount == 6 * PageSize.base)
        #expect(pool.usage.volatileByteCount == 0)
        #expect(bytes.copyBytes() == content)
        #expect(!bytes.isContentDiscarded)
        // Evicting it is the cache's work now.
        bytes.discardContentIfPossible()
        #expect(bytes.copyBytes() == nil)
        #expect(pool.usage.ordinaryByteCount == 0)
    }

    @Test func theNextAccessTriesToSealAgain() {
        let faults = FaultySystem()
        faults.refuse(.free, with: 22)
        let pool = PurgeablePool(system: faults.system)
        let bytes = PurgeableBytes(copying: content, pool: pool)
        for isRefused in [true, false, true] {
            faults.refuse(.free, with: isRefused ? 22 : nil)
            #expect(bytes.withBytes { $0.byteCount } == content.count)
            pool.warmQueue.drain()
            #expect(bytes.countsAsOrdinaryMemory == isRefused)
            #expect(pool.usage.ordinaryByteCount == (isRefused ? 6 * PageSize.base : 0))
            #expect(pool.usage.volatileByteCount == (isRefused ? 0 : 6 * PageSize.base))
            #expect(pool.usage.pinnedByteCount == 0)
            #expect(bytes.copyBytes() == content)
        }
    }

    @Test func oneRefusedNeighbourDoesNotKeepTheOthers() {
        let faults = FaultySystem()
        let pool = PurgeablePool(system: faults.system)
        let values = (0..<8).map { PurgeableBytes(copying: pattern(PageSize.base, salt: $0), pool: pool) }
        for value in values { #expect(value.beginContentAccess()) }
        for value in values { value.endContentAccess() }
        let before = faults.calls(.free)
        pool.warmQueue.drain()
        #expect(faults.calls(.free) == before + 1, "neighbours are sealed in one call")

        for value in values { #expect(value.beginContentAccess()) }
        for value in values { value.endContentAccess() }
        faults.refuse(.free, with: 22)
        pool.warmQueue.drain()
        #expect(faults.calls(.free) == before + 2 + 8, "and asked for one by one if that is refused")
        for (salt, value) in values.enumerated() { #expect(value.copyBytes() == pattern(PageSize.base, salt: salt)) }
    }

    @Test(arguments: interestingSizes) func refusedMappingsMakeAllocatedMemory(byteCount: Int) {
        let faults = FaultySystem()
        faults.refuseMappings(above: 0)
        let pool = PurgeablePool(system: faults.system)
        let content = pattern(byteCount)
        do {
            let bytes = PurgeableBytes(copying: content, pool: pool)
            #expect(bytes.countsAsOrdinaryMemory)
            #expect(pool.usage.ordinaryByteCount == byteCount)
            #expect(bytes.copyBytes() == content)
            #expect(bytes.withMutableBytes { $0.byteCount } == byteCount)
            #expect(bytes.beginContentAccess())
            bytes.discardContentIfPossible()
            #expect(bytes.copyBytes() == content)
            bytes.endContentAccess()
            bytes.discardContentIfPossible()
            #expect(bytes.isContentDiscarded)
        }
        let buffer = PurgeableBuffer(byteCount: byteCount, pool: pool)
        buffer.resize(to: byteCount + 1)
        #expect(isZero(UnsafeRawBufferPointer(buffer.unsafeMutableBytes)))
        #expect(pool.usage.volatileByteCount == 0 && pool.usage.pinnedByteCount == 0)
        // Room is a hint: none of it is allocated instead. And what must have pages is not made.
        let held = pool.usage.ordinaryByteCount
        let roomy = PurgeableBuffer(byteCount: 1, capacity: 1 << 30, pool: pool)
        #expect(pool.usage.ordinaryByteCount == held + 1 && roomy.byteCount == 1)
        #expect(PurgeableBuffer(pagesFor: 1 << 20, pool: pool) == nil)
    }

    @Test func refusedDiscardsStillEndTheContent() {
        let faults = FaultySystem()
        let pool = PurgeablePool(system: faults.system)
        let bytes = PurgeableBytes(copying: content, pool: pool)
        faults.refuse(.discard, with: 22)
        bytes.discardContentIfPossible()
        #expect(bytes.isContentDiscarded)
        #expect(bytes.copyBytes() == nil)
        #expect(isZero(bytes.uncheckedBytes))
    }

    @Test func withoutACensusTheWitnessesAnswer() {
        let faults = FaultySystem()
        faults.refuseResidency(with: 38)
        let pool = PurgeablePool(system: faults.system)
        let bytes = PurgeableBytes(copying: content, pool: pool)
        #expect(!bytes.isContentDiscarded)
        bytes.losePage(4)
        #expect(bytes.isContentDiscarded)
    }

    @Test(arguments: [PageAdvice.basePages, .hugePages, .omitFromCoreDump, .wipeOnFork])
    func refusedFlagsChangeNothing(advice: PageAdvice) {
        let faults = FaultySystem()
        faults.refuse(advice, with: 22)
        let pool = PurgeablePool(system: faults.system)
        for byteCount in [content.count, 2 << 20] {
            let content = pattern(byteCount)
            let bytes = PurgeableBytes(copying: content, pool: pool)
            #expect(bytes.copyBytes() == content)
            #expect(!bytes.countsAsOrdinaryMemory)
        }
    }

    @Test func nothingIsLeftMappedAfterAnyFault() {
        for refused in [PageAdvice.free, .discard, .wipeOnFork] {
            let faults = FaultySystem()
            faults.refuse(refused, with: 22)
            do {
                let pool = PurgeablePool(system: faults.system)
                for byteCount in interestingSizes {
                    let bytes = PurgeableBytes(copying: pattern(byteCount), pool: pool)
                    _ = bytes.withBytes { _ in }
                    pool.warmQueue.drain()
                }
            }
            #expect(faults.mappedByteCount == 0)
        }
    }
}
