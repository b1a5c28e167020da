//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Testing
import _CacheTestSupport

@testable import PurgeableMemory

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// madvise(2) refused by a real filter, each in a process of its own.
@Suite struct SeccompTests {
    @Test func whereTheFilterKnowsNoMadvFreeValuesAreOrdinary() async {
        await #expect(processExitsWith: .success) {
            let before = PurgeableBytes(copying: pattern(100_000))
            guard SeccompFilter.refuseAdvice(8, with: EPERM) else { return print("SKIPPED: no seccomp") }
            #expect(before.copyBytes() == pattern(100_000) || before.isContentDiscarded)
            checkOrdinaryValues()
        }
    }

    @Test func whereTheFilterKnowsNoMadviseValuesAreOrdinary() async {
        await #expect(processExitsWith: .success) {
            let before = PurgeableBytes(copying: pattern(100_000))
            guard SeccompFilter.refuseAdvice(nil, with: ENOSYS) else { return print("SKIPPED: no seccomp") }
            #expect(before.copyBytes() == pattern(100_000) || before.isContentDiscarded)
            checkOrdinaryValues()
        }
    }

    @Test func whereTheFilterWasThereFromTheBeginning() async {
        await #expect(processExitsWith: .success) {
            guard SeccompFilter.refuseAdvice(nil, with: ENOSYS) else { return print("SKIPPED: no seccomp") }
            checkOrdinaryValues()
            // Nothing can be wiped on fork, so a child shares the pages.
            let value = PurgeableBytes(copying: pattern(100_000))
            let child = exitCodeOfChild { value.copyBytes() == pattern(100_000) ? 0 : 1 }
            #expect(child == 0)
        }
    }
}

/// Values behave as always, count as ordinary, and leave nothing behind.
private func checkOrdinaryValues() {
    let value = PurgeableBytes(copying: pattern(100_000))
    #expect(value.countsAsOrdinaryMemory)
    #expect(PurgeableMemoryUsage.current().ordinaryBytes >= 100_000)
    #expect(value.copyBytes() == pattern(100_000))
    #expect(value.withBytes { $0.byteCount } == 100_000)
    PurgeablePool.shared.warmQueue.drain()
    #expect(value.countsAsOrdinaryMemory)
    #expect(value.withMutableBytes { $0.storeBytes(of: 7, as: UInt8.self) } != nil)
    #expect(value.load(at: 0, as: UInt8.self) == 7)
    value.discardContentIfPossible()
    #expect(value.isContentDiscarded)
    #expect(value.copyBytes() == nil)
    // Pages that cannot be discarded come back to the next value as zeros, and to the system with their mapping.
    let fresh = PurgeableBytes(byteCount: 100_000) { bytes in
        #expect(bytes.allSatisfy { $0 == 0 })
        bytes[0] = 1
    }
    #expect(fresh.load(at: 0, as: UInt8.self) == 1)
    let resident = residentBytes()
    for salt in 0..<40 {
        let values = (0..<4).map { PurgeableBytes(copying: pattern(1 << 20, salt: salt + $0)) }
        for (index, value) in values.enumerated() {
            #expect(value.copyBytes() == pattern(1 << 20, salt: salt + index))
        }
    }
    #expect(residentBytes() - resident < 32 << 20, "160 MiB came and went")
    #expect(PurgeableMemoryUsage.current().ordinaryBytes < 1 << 20)
}
#endif
