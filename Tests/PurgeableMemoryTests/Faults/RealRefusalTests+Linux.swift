//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Testing

@testable import PurgeableMemory

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The refusals of real systems, each in a process of its own.
@Suite struct RealRefusalTests {
    @Test func lockedProcess() async {
        await #expect(processExitsWith: .success) {
            let before = PurgeableBytes(copying: pattern(100_000))
            guard mlockall(MCL_CURRENT | MCL_FUTURE) == 0 else { return print("SKIPPED: may not lock memory") }
            #expect(before.copyBytes() == pattern(100_000) || before.isContentDiscarded)
            let bytes = PurgeableBytes(copying: pattern(100_000))
            #expect(bytes.countsAsOrdinaryMemory)
            #expect(bytes.copyBytes() == pattern(100_000))
            #expect(bytes.withBytes { $0.byteCount } == 100_000)
            PurgeablePool.shared.warmQueue.drain()
            #expect(bytes.copyBytes() == pattern(100_000))
            bytes.discardContentIfPossible()
            #expect(bytes.isContentDiscarded)
            #expect(bytes.copyBytes() == nil)
            // Once unlocked, the same process gets volatile memory again.
            munlockall()
            #expect(!PurgeableBytes(copying: pattern(100_000)).countsAsOrdinaryMemory)
        }
    }

    @Test func shortAddressSpace() async {
        await #expect(processExitsWith: .success) {
            try limitAddressSpace(toMore: 64 << 20)
            var values: [PurgeableBytes] = []
            // More than a region of 64 MiB would fit, and less than the limit.
            for salt in 0..<40 { values.append(PurgeableBytes(copying: pattern(1 << 20, salt: salt))) }
            for (salt, value) in values.enumerated() {
                #expect(value.copyBytes() == pattern(1 << 20, salt: salt) || value.isContentDiscarded)
            }
            values.removeAll()
            #expect(PurgeableBytes(copying: pattern(8 << 20)).copyBytes() == pattern(8 << 20))
        }
    }

    @Test func noAddressSpaceAtAllTrapsAsDocumented() async {
        await #expect(processExitsWith: .failure) {
            try limitAddressSpace(toMore: 64 << 20)
            _ = PurgeableBytes(byteCount: 200 << 20) { _ in }
        }
    }

    @Test func moreValuesThanMappings() throws {
        let pool = PurgeablePool()
        // The kernel's default limit is 65,530 mappings.
        var values = (0..<70_000).map {
            PurgeableBytes(copying: CollectionOfOne(UInt8(truncatingIfNeeded: $0 | 1)), pool: pool)
        }
        #expect(values.count == 70_000)
        values = (0..<70_000).map { number in
            PurgeableBytes(byteCount: PageSize.base, pool: pool) { $0[0] = UInt8(truncatingIfNeeded: number | 1) }
        }
        for index in stride(from: 0, to: values.count, by: 2) { values[index].discardContentIfPossible() }
        #expect(mappingCount() < 2000)
        for index in stride(from: 1, to: values.count, by: 2) {
            #expect(
                values[index].load(at: 0, as: UInt8.self) == UInt8(truncatingIfNeeded: index | 1)
                    || values[index].isContentDiscarded
            )
        }
    }
}

/// Lets this process map `byteCount` bytes more than it does.
private func limitAddressSpace(toMore byteCount: Int) throws {
    let pages = try #require(readFile("/proc/self/statm").split(separator: " ").first.flatMap { Int($0) })
    let limit = rlim_t(pages * PageSize.base + byteCount)
    var limits = rlimit(rlim_cur: limit, rlim_max: limit)
    try #require(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0)
}

private func mappingCount() -> Int { readFile("/proc/self/maps").count { $0 == "\n" } }

private func readFile(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { text += chunk[..<count] }
    return String(decoding: text, as: UTF8.self)
}
#endif
