//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import PurgeableMemory
import Testing
import _CacheTestSupport

@testable import MemoryCaching

@Suite struct PurgeableLogSegmentTests {
    private func append(_ log: SegmentLog, _ value: [UInt8], hash48: UInt64, stream: Int = 0) -> LogLocation {
        let reservation = log.reserve(byteCount: value.count, stream: stream)!
        value.withUnsafeBytes { log.write($0, hash48: hash48, at: reservation) }
        log.close(reservation)
        return reservation.location
    }

    private func read(_ log: SegmentLog, _ location: LogLocation, hash48: UInt64) -> (SegmentLog.ReadResult, [UInt8]) {
        let pass = log.gate.enter(0)
        var result = SegmentLog.ReadResult.stale
        let bytes = [UInt8](unsafeUninitializedCapacity: max(1, location.byteCount)) { buffer, count in
            result = log.read(location, hash48: hash48, into: UnsafeMutableRawPointer(buffer.baseAddress!))
            count = result == .copied ? location.byteCount : 0
        }
        log.gate.leave(pass)
        return (result, bytes)
    }

    @Test func onlyTheRightHashReads() {
        let log = SegmentLog()
        let location = append(log, [1, 2, 3], hash48: 77)
        #expect(read(log, location, hash48: 77) == (.copied, [1, 2, 3]))
        #expect(read(log, location, hash48: 78).0 == .purged, "another key's bytes are never read")
    }

    @Test func segmentsAreSealedWhenFullAndOnlyThen() {
        let log = SegmentLog()
        for number in 0..<300 { _ = append(log, bytes(of: 1, count: 4000), hash48: UInt64(number)) }
        #expect(log.sealedSegments == 1)
        #expect(log.volatileBytes == 1 << 20)
        #expect(log.ordinaryBytes == 1 << 20)
        log.sealActive()
        #expect(log.volatileBytes == 2 << 20)
        #expect(log.ordinaryBytes == 0)
    }

    @Test func anOpenReservationKeepsItsSegmentFromBeingSealed() {
        let log = SegmentLog()
        let open = log.reserve(byteCount: 100, stream: 0)!
        log.sealActive()
        #expect(log.sealedSegments == 0)
        #expect(log.retire(open.location.segment) == nil)
        bytes(of: 1, count: 100).withUnsafeBytes { log.write($0, hash48: 1, at: open) }
        log.close(open)
        #expect(log.sealedSegments == 1)
        #expect(read(log, open.location, hash48: 1) == (.copied, bytes(of: 1, count: 100)))
    }

    @Test func aLostPageIsFoundByReadersAndCensusAlike() {
        let log = SegmentLog()
        let first = append(log, bytes(of: 1, count: 20_000), hash48: 1)
        let second = append(log, bytes(of: 1, count: 100), hash48: 2)
        log.sealActive()
        let base = log.table[0].pointee.base
        _ = PageSystem.live.advise(base + 8192, 4096, .discard)
        #expect(log.isLost(first))
        #expect(!log.isLost(second))
        #expect(!log.isKnownLost(first))
        #expect(log.takeCensus().newlyLost == 1)
        #expect(log.isKnownLost(first))
        #expect(read(log, first, hash48: 1).0 == .purged)
        #expect(read(log, second, hash48: 2) == (.copied, bytes(of: 1, count: 100)))
        #expect(log.takeCensus().newlyLost == 0, "reading mapped the zero page; the mark stays")
        #expect(log.takeLosses() == 1)
    }

    @Test func retiringMakesLocationsStaleAndAccountsOnce() {
        let log = SegmentLog()
        let locations = (0..<10).map { append(log, bytes(of: 1, count: 50), hash48: UInt64($0)) }
        log.sealActive()
        #expect(log.forget(locations[0]))
        let life = log.retire(locations[0].segment)
        #expect(life?.items == 9)
        #expect(life?.bytes == 450)
        #expect(log.retire(locations[0].segment) == nil)
        #expect(!log.forget(locations[1]))
        #expect(read(log, locations[1], hash48: 1).0 == .stale)
        #expect(log.volatileBytes == 0)
    }

    @Test func theLastItemTakesItsSegmentAlong() {
        let log = SegmentLog()
        let locations = (0..<10).map { append(log, bytes(of: 1, count: 50), hash48: UInt64($0)) }
        log.sealActive()
        for location in locations { #expect(log.forget(location)) }
        #expect(log.volatileBytes == 0)
        #expect(log.takeCensus().segments.isEmpty)
    }

    @Test func pagesAreNotRefilledUnderAReader() {
        let log = SegmentLog()
        let location = append(log, bytes(of: 1, count: 50), hash48: 1)
        log.sealActive()
        let reader = log.gate.enter(3)
        _ = log.retire(location.segment)
        for number in 0..<600 {
            #expect(append(log, bytes(of: 1, count: 4000), hash48: UInt64(number)).segment != location.segment)
        }
        log.gate.leave(reader)
        var refilled = false
        for number in 0..<1200 {
            let appended = append(log, bytes(of: 1, count: 4000), hash48: UInt64(number))
            refilled = refilled || appended.segment == location.segment
        }
        #expect(refilled, "the address space is used again once the reader has left")
        #expect(read(log, location, hash48: 1).0 == .stale)
    }

    @Test func aSegmentIsNotRefilledForEverWithoutASweep() {
        let log = SegmentLog()
        var segments: Set<Int> = []
        for number in 0..<(SegmentLog.refillsBetweenSweeps * 4) {
            let location = append(log, [1], hash48: UInt64(number))
            segments.insert(location.segment)
            log.sealActive()
            _ = log.retire(location.segment)
        }
        #expect(log.needsSweep)
        #expect(segments.count >= 4)
        log.sweepStarts()
        log.sweepFinished()
        #expect(!log.needsSweep)
    }

    @Test func addressSpaceComesBackWithTheLog() {
        let faults = FaultySystem()
        do {
            let log = SegmentLog(arena: PageArena(pages: .base, system: faults.system))
            for number in 0..<600 { _ = append(log, bytes(of: 1, count: 4000), hash48: UInt64(number)) }
            #expect(faults.mappedByteCount > 0)
        }
        #expect(faults.mappedByteCount == 0)
    }

    @Test func freeSegmentsAreUnmappedButNotUnderAReader() {
        let faults = FaultySystem()
        faults.limitMapping()
        let log = SegmentLog(arena: PageArena(pages: .base, system: faults.system))
        let locations = (0..<4000).map { append(log, bytes(of: $0, count: 4000), hash48: UInt64($0)) }
        log.sealActive()
        let segments = log.sealedSegmentNumbers()
        let mapped = faults.mappedByteCount
        #expect(mapped == segments.count << 20)
        let reader = log.gate.enter(3)
        for segment in segments { #expect(log.retire(segment.number) != nil) }
        log.unmapFree()
        #expect(faults.mappedByteCount == mapped, "it may still look there")
        log.gate.leave(reader)
        log.unmapFree()
        #expect(faults.mappedByteCount == 0)
        for (number, location) in locations.enumerated() {
            #expect(read(log, location, hash48: UInt64(number)).0 == .stale)
        }
        for segment in segments {
            #expect(
                log.scan(segment.number, generation: segment.generation, from: 0, byteCount: 1 << 20) { _, _ in nil }
                    == nil
            )
        }
        #expect(log.takeCensus().segments.isEmpty)
    }

    @Test func unmappedSegmentsGetOtherPagesOnceTheSystemHasSome() {
        let faults = FaultySystem()
        faults.limitMapping()
        let log = SegmentLog(arena: PageArena(pages: .base, system: faults.system))
        let old = (0..<4000).map { append(log, bytes(of: $0, count: 4000), hash48: UInt64($0)) }
        log.sealActive()
        let segments = log.sealedSegmentNumbers()
        for segment in segments { _ = log.retire(segment.number) }
        log.unmapFree()
        faults.refuseMappings(above: 0)
        #expect(log.reserve(byteCount: 4000, stream: 0) == nil)
        faults.refuseMappings(above: .max)
        let appended = (0..<4000).map { append(log, bytes(of: $0, count: 4000), hash48: UInt64($0)) }
        #expect(Set(appended.map(\.segment)) == Set(segments.map(\.number)), "no number is lost")
        for (number, location) in appended.enumerated() {
            #expect(read(log, location, hash48: UInt64(number)) == (.copied, bytes(of: number, count: 4000)))
        }
        for (number, location) in old.enumerated() {
            #expect(read(log, location, hash48: UInt64(number)).0 == .stale)
        }
    }

    #if os(Linux)
    @Test func aChildSeesMissesAndTheParentKeepsAll() async {
        await #expect(processExitsWith: .success) {
            let log = SegmentLog()
            func append(_ byte: UInt8) -> LogLocation {
                let reservation = log.reserve(byteCount: 5000, stream: 0)!
                [UInt8](repeating: byte, count: 5000).withUnsafeBytes {
                    log.write($0, hash48: UInt64(byte), at: reservation)
                }
                log.close(reservation)
                return reservation.location
            }
            func first(_ location: LogLocation, _ byte: UInt8) -> UInt8? {
                var buffer = [UInt8](repeating: 0, count: 5000)
                return buffer.withUnsafeMutableBytes {
                    log.read(location, hash48: UInt64(byte), into: $0.baseAddress!)
                } == .copied ? buffer[4999] : nil
            }
            let sealed = append(1)
            log.sealActive()
            let active = append(2)
            let child = exitCodeOfChild {
                guard first(sealed, 1) == nil, first(active, 2) == nil else { return 1 }
                return first(append(3), 3) == 3 ? 0 : 2
            }
            #expect(child == 0)
            #expect(first(sealed, 1) == 1)
            #expect(first(active, 2) == 2)
        }
    }
    #endif
}
