//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import PurgeableMemory

@Suite struct PageArenaTests {
    @Test func handsOutZeroAlignedDisjointRuns() throws {
        let arena = PageArena(pages: .base)
        var ranges: [Range<UInt>] = []
        for byteCount in [1, PageSize.base, PageSize.base + 1, 1 << 20, 5 << 20] {
            let run = try #require(arena.allocate(byteCount: byteCount))
            #expect(run.byteCount == PageSize.roundedUp(byteCount))
            #expect(isZero(UnsafeRawBufferPointer(run.bytes)))
            let first = UInt(bitPattern: run.base)
            #expect(first % UInt(PageSize.base) == 0)
            #expect(ranges.allSatisfy { !$0.overlaps(first..<first + UInt(run.byteCount)) })
            ranges.append(first..<first + UInt(run.byteCount))
            run.bytes.initializeMemory(as: UInt8.self, repeating: 0xFF)
        }
    }

    @Test(arguments: [PageSize.base, 20 << 20]) func reusedRunsAreZero(byteCount: Int) throws {
        let arena = PageArena(pages: .base)
        for _ in 0..<3 {
            let run = try #require(arena.allocate(byteCount: byteCount))
            #expect(isZero(UnsafeRawBufferPointer(run.bytes)))
            run.bytes.initializeMemory(as: UInt8.self, repeating: 7)
            arena.deallocate(run)
        }
    }

    @Test func reusedRunsAreZeroEvenWhereDiscardIsRefused() throws {
        let faults = FaultySystem()
        faults.refuse(.discard, with: 22)
        let arena = PageArena(pages: .base, system: faults.system)
        let run = try #require(arena.allocate(byteCount: 1))
        run.bytes.initializeMemory(as: UInt8.self, repeating: 7)
        arena.deallocate(run)
        let again = try #require(arena.allocate(byteCount: 1))
        #expect(again.base == run.base)
        #expect(isZero(UnsafeRawBufferPointer(again.bytes)))
    }

    @Test func aMillionPagesAreFewMappings() throws {
        let arena = PageArena(pages: .base)
        for _ in 0..<1_000_000 { _ = try #require(arena.allocate(byteCount: PageSize.base)) }
        #expect(arena.regionCount <= PageSize.base * 1_000_000 / (64 << 20) + 6)
    }

    @Test func givesEverythingBack() throws {
        let faults = FaultySystem()
        do {
            let arena = PageArena(pages: .base, system: faults.system)
            let runs = try (0..<3000).map { try #require(arena.allocate(byteCount: PageSize.base * ($0 % 40 + 1))) }
            #expect(arena.regionCount > 1)
            for run in runs { arena.deallocate(run) }
            #expect(arena.regionCount <= 1, "one empty region is kept, the others go")
            let alone = try #require(arena.allocate(byteCount: 32 << 20))
            arena.deallocate(alone)
        }
        #expect(faults.mappedByteCount == 0)
    }

    @Test func whereMappingIsLimitedAllThatIsFreeIsUnmapped() throws {
        let faults = FaultySystem()
        faults.limitMapping()
        let arena = PageArena(pages: .base, system: faults.system)
        // What shares regions, which are small.
        let small = try (0..<2048).map { _ in try #require(arena.allocate(byteCount: 32 << 10)) }
        #expect(arena.regionCount == 16 && faults.mappedByteCount == 64 << 20)
        for run in small[..<1024] { arena.deallocate(run) }
        #expect(faults.mappedByteCount == 36 << 20, "an empty region is kept")
        // What has mappings of its own, of whatever size and age.
        let large = try (0..<64).map { try #require(arena.allocate(byteCount: (64 << 10) * ($0 + 1))) }
        for (number, run) in large.enumerated() where number % 2 == 0 { arena.deallocate(run) }
        #expect(faults.mappedByteCount == (36 << 20) + (64 << 10) * 32 * 33)
        for (number, run) in large.enumerated() where number % 2 == 1 { arena.deallocate(run) }
        #expect(faults.mappedByteCount == 36 << 20)
    }

    @Test func whereMappingIsLimitedTheKernelsMappingsLast() throws {
        // With a hole behind each, which keeps the kernel from merging them: 70,000 would be more than the process may have.
        let faults = FaultySystem()
        faults.limitMapping()
        let arena = PageArena(pages: .base, system: faults.system)
        let runs = try (0..<140_000).map { _ in try #require(arena.allocate(byteCount: 65 << 10)) }
        #expect(faults.mappingCount <= 16_384 + 2200, "what has no mapping of its own is in regions of 4 MiB")
        for (number, run) in runs.enumerated() where number % 2 == 0 { arena.deallocate(run) }
        #expect(faults.mappingCount <= 16_384 / 2 + 2200)
        // There are mappings to spend again.
        let mapped = faults.mappedByteCount
        let next = try #require(arena.allocate(byteCount: 65 << 10))
        #expect(faults.mappedByteCount == mapped + next.byteCount)
        arena.deallocate(next)
        for (number, run) in runs.enumerated() where number % 2 == 1 { arena.deallocate(run) }
        #expect(arena.regionCount <= 1)
        #expect(faults.mappingCount <= 1)
    }

    @Test func whereMappingIsLimitedFreePagesServeBeforeAnAllocationFails() throws {
        let faults = FaultySystem()
        let arena = PageArena(pages: .base, system: faults.system)
        // In a region, mapped while there was no limit.
        let shared = try #require(arena.allocate(byteCount: 100 << 10))
        faults.limitMapping(to: faults.mappedByteCount)
        let run = try #require(arena.allocate(byteCount: 100 << 10), "the region has room")
        #expect(arena.allocate(byteCount: 8 << 20) == nil)
        arena.deallocate(run)
        arena.deallocate(shared)
    }

    @Test func sealedPagesGoUnderPressureAndAreSeenToBeGone() throws {
        let arena = PageArena(pages: .base)
        let run = try #require(arena.allocate(byteCount: 16 * PageSize.base))
        run.bytes.initializeMemory(as: UInt8.self, repeating: 7)
        #expect(arena.withResidency(run.base, byteCount: run.byteCount) { $0!.allSatisfy { $0 & 1 == 1 } })
        #expect(arena.seal(run.base, byteCount: run.byteCount))
        squeeze(run.base, byteCount: run.byteCount)
        let lost = arena.withResidency(run.base, byteCount: run.byteCount) { $0!.count { $0 & 1 == 0 } }
        #expect(lost > 0, "MADV_PAGEOUT takes lazily freed pages")
        arena.deallocate(run)
    }

    @Test func refusedSealsAndCensusesAreAnswers() throws {
        let faults = FaultySystem()
        faults.refuse(.free, with: 22)
        faults.refuseResidency(with: 38)
        let arena = PageArena(pages: .base, system: faults.system)
        let run = try #require(arena.allocate(byteCount: PageSize.base))
        #expect(!arena.seal(run.base, byteCount: run.byteCount))
        #expect(arena.withResidency(run.base, byteCount: run.byteCount) { $0 == nil })
        arena.deallocate(run)
    }

    @Test func asksForLessWhereAddressSpaceIsShort() throws {
        let faults = FaultySystem()
        faults.refuseMappings(above: 64 << 10)
        let arena = PageArena(pages: .base, system: faults.system)
        #expect(arena.allocate(byteCount: PageSize.base) != nil)
        #expect(arena.allocate(byteCount: 128 << 10) == nil)
        faults.refuseMappings(above: 0)
        #expect(PageArena(pages: .base, system: faults.system).allocate(byteCount: 1) == nil)
    }

    @Test func hugeRunsAreAlignedToHugePages() throws {
        let faults = FaultySystem()
        do {
            let arena = PageArena(pages: .huge, system: faults.system)
            let runs = try [1, 2 << 20, 5 << 20, 40 << 20].map { try #require(arena.allocate(byteCount: $0)) }
            for run in runs {
                #expect(Int(bitPattern: run.base) % PageSize.huge == 0)
                #expect(run.byteCount % PageSize.huge == 0)
            }
            for run in runs { arena.deallocate(run) }
        }
        #expect(faults.mappedByteCount == 0)
    }
}
