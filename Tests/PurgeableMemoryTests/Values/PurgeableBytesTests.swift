//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Testing
import _CacheTestSupport

@testable import PurgeableMemory

/// Sizes around every border: nothing, part of a page, pages, the inline witness table, huge pages, a mapping alone.
let interestingSizes = [
    0, 1, 15, PageSize.base - 1, PageSize.base, PageSize.base + 1, 4 * PageSize.base, 4 * PageSize.base + 1, 1 << 20,
    2 << 20, 2 << 20 + 1, 17 << 20,
]

/// Bytes that differ from their neighbours and from page to page, none of them 0.
func pattern(_ count: Int, salt: Int = 0) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count + 8) { target, initializedCount in
        let bytes = UnsafeMutableRawPointer(target.baseAddress!)
        for index in 0..<count / 8 + 1 {
            let word = UInt64(truncatingIfNeeded: index &+ 1 &+ salt &* 7919) &* 0x9E37_79B9_7F4A_7C15
            bytes.storeBytes(of: word | 0x0101_0101_0101_0101, toByteOffset: index * 8, as: UInt64.self)
        }
        initializedCount = count
    }
}

/// Whether all bytes are 0; quick in unoptimised builds, too.
func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let words = bytes.count / 8
    for index in 0..<words where bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) != 0 { return false }
    return bytes[(words * 8)...].allSatisfy { $0 == 0 }
}

extension PurgeableBytes {
    /// Takes one page away, as the kernel does: it reads as zero from then on.
    func losePage(_ page: Int) {
        _ = PageSystem.live.advise(extent.base + page * PageSize.base, PageSize.base, .discard)
    }
}

struct Refusal: Error, Equatable {}

@Suite struct PurgeableBytesTests {
    @Test(arguments: interestingSizes) func keepsWhatWasPutIn(byteCount: Int) {
        let content = pattern(byteCount)
        let bytes = PurgeableBytes(copying: content)
        #expect(bytes.byteCount == byteCount)
        #expect(!bytes.isContentDiscarded)
        #expect(bytes.copyBytes() == content)
        #expect(bytes.withBytes { span in span.withUnsafeBytes { Array($0) } } == content)
        #expect(bytes.copyBytes() == content, "reading changes nothing")
    }

    @Test func copiesEveryKindOfCollection() {
        let content = pattern(10_000)
        #expect(PurgeableBytes(copying: content[100...]).copyBytes() == Array(content[100...]))
        #expect(PurgeableBytes(copying: ContiguousArray(content)).copyBytes() == content)
        #expect(PurgeableBytes(copying: content.lazy.map { $0 ^ 1 }).copyBytes() == content.map { $0 ^ 1 })
        #expect(PurgeableBytes(copying: Set<UInt8>([7])).copyBytes() == [7])
        #expect(PurgeableBytes(copying: EmptyCollection<UInt8>()).copyBytes() == [])
        #expect(PurgeableBytes(copying: content.span.bytes).copyBytes() == content)
    }

    @Test(arguments: [100, 50_000]) func initialisingBodyWritesZeroedMemory(byteCount: Int) throws {
        let bytes = PurgeableBytes(byteCount: byteCount) { target in
            #expect(target.count == byteCount)
            #expect(target.allSatisfy { $0 == 0 })
            target[byteCount - 1] = 9
        }
        let copy = try #require(bytes.copyBytes())
        #expect(copy.last == 9 && copy.dropLast().allSatisfy { $0 == 0 })
    }

    @Test(arguments: [100, 50_000, 3 << 20]) func throwingBodyLeavesNothingBehind(byteCount: Int) {
        let pool = PurgeablePool()
        #expect(throws: Refusal()) {
            _ = try PurgeableBytes(byteCount: byteCount, pool: pool) { (_) throws(Refusal) in throw Refusal() }
        }
        #expect(pool.usage.volatileByteCount == 0)
        #expect(pool.usage.pinnedByteCount == 0)
        #expect(pool.usage.ordinaryByteCount == 0)
    }

    @Test func isVolatileAfterInit() {
        let pool = PurgeablePool()
        let bytes = PurgeableBytes(copying: pattern(1 << 20), pool: pool)
        #expect(bytes.extent.loadState().phase == .volatile)
        #expect(pool.usage.volatileByteCount == 1 << 20)
        #expect(pool.usage.pinnedByteCount == 0)
        squeeze(bytes.extent.base, byteCount: 1 << 20)
        #expect(bytes.isContentDiscarded, "the kernel may take it without being told anything more")
        #expect(bytes.copyBytes() == nil)
        #expect(pool.usage.volatileByteCount == 0)
    }

    @Test(arguments: [0, 1, 7, 8]) func oneLostPageIsTheDeathOfAll(page: Int) {
        let content = pattern(8 * PageSize.base + 100)
        let pinned = PurgeableBytes(copying: content)
        pinned.losePage(page)
        #expect(!pinned.beginContentAccess())
        #expect(pinned.copyBytes(in: 0..<1) == nil)

        let copied = PurgeableBytes(copying: content)
        copied.losePage(page)
        #expect(copied.copyBytes() == nil)
        #expect(copied.isContentDiscarded)

        let asked = PurgeableBytes(copying: content)
        asked.losePage(page)
        #expect(asked.isContentDiscarded)
        #expect(asked.extent.loadState().phase == .dead)
    }

    @Test func pagesOfZerosHaveNothingToLose() {
        let zeros = PurgeableBytes(copying: [UInt8](repeating: 0, count: 6 * PageSize.base))
        zeros.losePage(3)
        #expect(!zeros.isContentDiscarded)
        #expect(zeros.copyBytes() == [UInt8](repeating: 0, count: 6 * PageSize.base))
        #expect(zeros.beginContentAccess())
        zeros.endContentAccess()
    }

    @Test func aSingleNonzeroByteIsAWitness() {
        for index in [0, 1, 4095, 4096, 8191, 12_288, 20_479] {
            var content = [UInt8](repeating: 0, count: 20_480)
            content[index] = 1
            let bytes = PurgeableBytes(copying: content)
            #expect(bytes.copyBytes() == content)
            bytes.losePage(index / PageSize.base)
            #expect(bytes.copyBytes() == nil, "a lost byte \(index) must not read as 0")
        }
    }

    @Test func rangesOfPagesThatAreThereCanBeRead() {
        let content = pattern(8 * PageSize.base)
        let bytes = PurgeableBytes(copying: content)
        let middle = 3 * PageSize.base - 5..<3 * PageSize.base + 5
        #expect(bytes.copyBytes(in: middle) == Array(content[middle]))
        #expect(bytes.copyBytes(in: 10..<10) == [])
        #expect(bytes.load(at: 4095, as: UInt64.self) != nil)
        #expect(bytes.load(at: 1, as: UInt8.self) == content[1])
        bytes.losePage(3)
        #expect(bytes.copyBytes(in: middle) == nil)
        #expect(bytes.load(at: 0, as: UInt8.self) == nil, "found dead, dead as a whole")
    }

    @Test func accessesNestAndKeepTheBytes() {
        let content = pattern(5 * PageSize.base)
        let bytes = PurgeableBytes(copying: content)
        #expect(bytes.beginContentAccess())
        #expect(bytes.beginContentAccess())
        bytes.endContentAccess()
        bytes.discardContentIfPossible()
        squeeze(bytes.extent.base, byteCount: bytes.extent.residentByteCount)
        #expect(bytes.copyBytes() == content, "accessed bytes stay")
        bytes.endContentAccess()
        bytes.discardContentIfPossible()
        #expect(bytes.isContentDiscarded)
        #expect(!bytes.beginContentAccess())
        #expect(bytes.withBytes { _ in 1 } == nil)
        #expect(bytes.copyBytes() == nil)
        bytes.discardContentIfPossible()
    }

    @Test(arguments: interestingSizes) func discardFreesTheMemoryAndIsForGood(byteCount: Int) {
        let pool = PurgeablePool()
        let bytes = PurgeableBytes(copying: pattern(byteCount), pool: pool)
        bytes.discardContentIfPossible()
        #expect(bytes.isContentDiscarded)
        #expect(bytes.copyBytes() == nil)
        #expect(bytes.read(0..<0, into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == false)
        #expect(bytes.byteCount == byteCount)
        #expect(pool.usage.volatileByteCount == 0)
        #expect(pool.usage.ordinaryByteCount == 0)
        if let run = bytes.extent.run {
            let arena = PageArena(pages: .base)
            let present = arena.withResidency(run.base, byteCount: run.byteCount) { $0!.count { $0 & 1 == 1 } }
            #expect(present == 0)
        }
    }

    @Test func unpinnedBytesStayWarmUntilDrained() {
        let pool = PurgeablePool()
        let content = pattern(3 * PageSize.base)
        let bytes = PurgeableBytes(copying: content, pool: pool)
        #expect(bytes.beginContentAccess())
        bytes.endContentAccess()
        #expect(bytes.extent.loadState().phase == .resident)
        #expect(pool.usage.pinnedByteCount == 3 * PageSize.base)
        #expect(pool.warmQueue.byteCount == 3 * PageSize.base)
        pool.warmQueue.drain()
        #expect(bytes.extent.loadState().phase == .volatile)
        #expect(pool.usage.pinnedByteCount == 0)
        #expect(pool.usage.volatileByteCount == 3 * PageSize.base)
        #expect(bytes.copyBytes() == content)
    }

    @Test func beginOfWarmBytesMakesNoSystemCall() {
        let faults = FaultySystem()
        let pool = PurgeablePool(system: faults.system)
        let bytes = PurgeableBytes(copying: pattern(PageSize.base), pool: pool)
        #expect(faults.calls(.free) == 1)
        for _ in 0..<1000 {
            #expect(bytes.beginContentAccess())
            bytes.endContentAccess()
        }
        #expect(faults.calls(.free) == 1)
        pool.warmQueue.drain()
        #expect(faults.calls(.free) == 2)
        pool.warmQueue.drain()
        #expect(faults.calls(.free) == 2)
    }

    @Test func neverEndsMoreThanItBegan() async {
        await #expect(processExitsWith: .failure) {
            PurgeableBytes(copying: [1, 2, 3]).endContentAccess()
        }
        await #expect(processExitsWith: .failure) {
            let bytes = PurgeableBytes(copying: [UInt8](repeating: 1, count: 10_000))
            #expect(bytes.beginContentAccess())
            bytes.endContentAccess()
            bytes.endContentAccess()
        }
        await #expect(processExitsWith: .failure) {
            let bytes = PurgeableBytes(copying: [UInt8](repeating: 1, count: 10_000))
            _ = bytes.withBytes { _ in bytes.endContentAccess() }
        }
    }

    @Test func badArgumentsTrap() async {
        await #expect(processExitsWith: .failure) { _ = PurgeableBytes(byteCount: -1) { _ in } }
        await #expect(processExitsWith: .failure) { _ = PurgeableBytes(copying: [1, 2]).copyBytes(in: 1..<3) }
        await #expect(processExitsWith: .failure) { _ = PurgeableBytes(copying: [1, 2]).load(at: 1, as: UInt16.self) }
        await #expect(processExitsWith: .failure) { _ = PurgeableBytes(copying: [1, 2]).load(at: -1, as: UInt8.self) }
    }
}
