//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if os(Linux)
import Foundation
import Synchronization
import Testing
import _CacheTestSupport

@testable import MemoryCaching

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A full cache beside bursts of ordinary memory, in a container where one of the two must yield.
///
/// Short by default; `CACHE_STRESS_SECONDS` makes it the full 40 bursts with a third of the bytes in 100-byte values.
@Suite(.serialized) struct PurgeableCacheBurstTests {
    @Test(.enabled(if: CgroupSandbox.isAvailable, "no writable memory cgroup"), .timeLimit(.minutes(10)))
    func aFullCacheSurvivesBurstsOfOrdinaryMemory() async throws {
        let sandbox = try CgroupSandbox(limitBytes: 256 << 20)
        defer { sandbox.remove() }
        let isFull = ProcessInfo.processInfo.environment["CACHE_STRESS_SECONDS"] != nil
        // What the process prints is shown by nobody else.
        let outcome = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [directory = sandbox.directory as String, isFull = isFull as Bool] in
            try CgroupSandbox.enter(directory)
            let report = BurstRun(isFull: isFull).run()
            print(report)
            #expect(report.corrupt == 0)
            #expect(report.verified > BurstRun.leastVerified)
            #expect(report.purged > 1000, "the cache has to have been larger than the container")
            #expect(report.bytesLeft > 32 << 20, "and still hold what the bursts left")
        }
        print(String(decoding: outcome?.standardOutputContent ?? [], as: UTF8.self))
        #expect(sandbox.outOfMemoryKills == 0)
    }
}

/// What a run saw.
struct BurstReport: CustomStringConvertible {
    var verified = 0
    var corrupt = 0
    var missed = 0
    var purged = 0
    var bytesLeft = 0
    var seconds = 0.0

    var description: String {
        "PurgeableCacheBurstTests: verified \(verified) corrupt \(corrupt) missed \(missed) purged \(purged) "
            + "left \(bytesLeft >> 20) MiB in \(seconds) s"
    }
}

/// 300 MiB offered in values of 100 B, 1 KB and 20 KB; two threads verify and refill what is gone; 100 MiB of ordinary
/// memory come and go.
struct BurstRun {
    static let leastVerified = 10_000
    private static let sizes = [100, 1000, 20_000]
    /// How many values of each size.
    let counts: [Int]
    let bursts: Int

    init(isFull: Bool) {
        let bytes = isFull ? [100 << 20, 100 << 20, 100 << 20] : [10 << 20, 90 << 20, 200 << 20]
        counts = zip(bytes, Self.sizes).map { $0 / $1 }
        bursts = isFull ? 40 : 8
    }

    /// The bytes of a key: a template with the key stamped into every half page.
    private static func write(_ key: Int, into buffer: UnsafeMutableRawPointer, count: Int) {
        var offset = 0
        while offset + 8 <= count {
            buffer.storeBytes(of: UInt64(key) &* 0x9E37_79B9_7F4A_7C15, toByteOffset: offset, as: UInt64.self)
            offset += 2048
        }
    }

    private func size(of key: Int) -> Int {
        key < counts[0] ? Self.sizes[0] : key < counts[0] + counts[1] ? Self.sizes[1] : Self.sizes[2]
    }

    private func set(_ key: Int, _ cache: PurgeableCache<Int>, _ buffer: UnsafeMutableRawPointer) {
        let count = size(of: key)
        Self.write(key, into: buffer, count: count)
        cache.setBytes(UnsafeRawBufferPointer(start: buffer, count: count), forKey: key)
    }

    func run() -> BurstReport {
        let begun = ContinuousClock.now
        let cache = PurgeableCache<Int>(name: "burst")
        let total = counts.reduce(0, +)
        let template = UnsafeMutableRawPointer.allocate(byteCount: 20_000, alignment: 64)
        for offset in 0..<20_000 {
            template.storeBytes(of: UInt8(offset % 251 + 1), toByteOffset: offset, as: UInt8.self)
        }
        for key in 0..<total { set(key, cache, template) }
        let isDone = Atomic<Bool>(false)
        let verified = Atomic<Int>(0)
        let corrupt = Atomic<Int>(0)
        let missed = Atomic<Int>(0)
        withExtendedLifetime(cache) {
            let source = UInt(bitPattern: template)
            DispatchQueue.concurrentPerform(iterations: 3) { role in
                if role == 0 {
                    burst()
                    // Beside other work the bursts may be over before the two threads have looked at enough.
                    while verified.load(ordering: .relaxed) <= Self.leastVerified { usleep(10_000) }
                    isDone.store(true, ordering: .releasing)
                    return
                }
                let expected = UnsafeMutableRawPointer.allocate(byteCount: 20_000, alignment: 64)
                expected.copyMemory(from: UnsafeRawPointer(bitPattern: source)!, byteCount: 20_000)
                var random = SplitMix64(seed: UInt64(role))
                while !isDone.load(ordering: .acquiring) {
                    let key = Int.random(in: 0..<total, using: &random)
                    Self.write(key, into: expected, count: size(of: key))
                    if let bytes = cache.bytes(forKey: key) {
                        let isRight =
                            bytes.count == size(of: key)
                            && bytes.withUnsafeBytes { memcmp($0.baseAddress!, expected, bytes.count) == 0 }
                        verified.wrappingAdd(1, ordering: .relaxed)
                        if !isRight { corrupt.wrappingAdd(1, ordering: .relaxed) }
                    } else {
                        missed.wrappingAdd(1, ordering: .relaxed)
                        set(key, cache, expected)
                    }
                }
                expected.deallocate()
            }
        }
        let statistics = cache.statistics
        template.deallocate()
        return BurstReport(
            verified: verified.load(ordering: .relaxed),
            corrupt: corrupt.load(ordering: .relaxed),
            missed: missed.load(ordering: .relaxed),
            purged: statistics.purged + statistics.removals(.memoryPressure),
            bytesLeft: statistics.totalCost,
            seconds: Double((ContinuousClock.now - begun).components.seconds)
        )
    }

    private func burst() {
        for _ in 0..<bursts {
            let count = 100 << 20
            let ordinary = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 4096)
            memset(ordinary, 1, count)
            usleep(50_000)
            ordinary.deallocate()
            usleep(50_000)
        }
    }
}
#endif
