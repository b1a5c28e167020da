//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import PurgeableMemory

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// Purgeable bytes beside memcpy of ordinary memory in the same run; ratios are medians of interleaved rounds.
//
//     swift run -c release --package-path Benchmarks purgeable-bytes-bench
//
// Exits with 1 if a figure is missed.

struct PurgeableBytesBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purgeable-bytes-bench",
        abstract:
            "Measure purgeable bytes beside memcpy of ordinary memory, in one run. Exits with 1 if a figure is missed."
    )
}

_ = PurgeableBytesBench.parseOrExit()

var report = Report()

func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) } }

/// Copies `count` values of `byteCount` bytes, by memcpy and by optimistic reads, in turn: batches of a tenth of a
/// millisecond or less, each method first in every other round, and each batch's time over its neighbour's, so that a
/// clock that drifts falls on both alike. Either method finds its sources as its own last batch left them.
func benchmarkReads(byteCount: Int, count: Int, repetitions: Int, rounds: Int, _ report: inout Report) {
    let bytes = content(byteCount)
    let sources = (0..<count).map { _ in
        let source = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
        source.copyBytes(from: bytes)
        return source
    }
    let values = (0..<count).map { _ in PurgeableBytes(copying: bytes) }
    // Iterating over objects retains each; that would be measured on one side alone.
    let references = values.map { Unmanaged.passUnretained($0) }
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
    target.initializeMemory(as: UInt8.self, repeating: 0)
    defer {
        for source in sources { source.deallocate() }
        target.deallocate()
    }
    defer { withExtendedLifetime(values) {} }
    var ratios: [Double] = []
    var copies: [Double] = []
    func copy() -> Double {
        seconds {
            for _ in 0..<repetitions {
                for source in sources { target.copyMemory(from: UnsafeRawBufferPointer(source)) }
            }
        }
    }
    func read() -> Double {
        seconds {
            for _ in 0..<repetitions {
                for value in references {
                    let isThere = value._withUnsafeGuaranteedRef { $0.read(0..<byteCount, into: target) }
                    if !isThere { fatalError("purged") }
                }
            }
        }
    }
    for round in 0..<rounds {
        let copying: Double
        let reading: Double
        if round % 2 == 0 {
            copying = copy()
            reading = read()
        } else {
            reading = read()
            copying = copy()
        }
        ratios.append(reading / copying)
        copies.append(copying / Double(repetitions * count) * 1e9)
    }
    report.row(
        "optimistic read of \(byteCount / 1024) KiB",
        ratios.median,
        "x memcpy",
        atMost: 1.05,
        note: "(memcpy \(copies.median.fixed(0)) ns)"
    )
}

/// Accesses values in turn; more of them than stay warm, so that each access is cold and each end seals its share.
func benchmarkColdAccess(byteCount: Int, count: Int) -> (access: Double, end: Double) {
    let bytes = content(byteCount)
    let values = (0..<count).map { _ in PurgeableBytes(copying: bytes) }
    var accesses: [Double] = []
    var ends: [Double] = []
    for _ in 0..<9 {
        var ending = 0.0
        let all = seconds {
            // Held in groups, so that the clock is read rarely.
            for group in stride(from: 0, to: count, by: 16) {
                for value in values[group..<group + 16] where !value.beginContentAccess() { fatalError("purged") }
                ending += seconds { for value in values[group..<group + 16] { value.endContentAccess() } }
            }
        }
        accesses.append(all / Double(count))
        ends.append(ending / Double(count))
    }
    return (accesses.median, ends.median)
}

benchmarkReads(byteCount: 4 << 10, count: 16, repetitions: 80, rounds: 1001, &report)
benchmarkReads(byteCount: 64 << 10, count: 8, repetitions: 6, rounds: 1001, &report)
benchmarkReads(byteCount: 1 << 20, count: 4, repetitions: 1, rounds: 401, &report)

let page = benchmarkColdAccess(byteCount: 4 << 10, count: 4096)
report.row("begin and end of 4 KiB, cold, sealing included", page.access * 1e6, "us", atMost: 1)
let mebibyte = benchmarkColdAccess(byteCount: 1 << 20, count: 32)
report.row("sealing 1 MiB", mebibyte.end * 1e6, "us", atMost: 20)
print("begin and end of 1 MiB, cold, sealing included \((mebibyte.access * 1e6).fixed()) us")

do {
    let value = PurgeableBytes(copying: content(4 << 10))
    let times = (0..<15).map { _ in
        seconds {
            for _ in 0..<100_000 {
                _ = value.beginContentAccess()
                value.endContentAccess()
            }
        } / 100_000
    }
    report.row("begin and end of a warm 4 KiB", times.median * 1e9, "ns", atMost: 20)
    let lending = (0..<15).map { _ in
        seconds { for _ in 0..<100_000 { _ = value.withBytes { $0.byteCount } } } / 100_000
    }
    print("withBytes of a warm 4 KiB \((lending.median * 1e9).fixed()) ns")
    var sum: UInt64 = 0
    let loading = (0..<15).map { _ in
        seconds { for index in 0..<100_000 { sum &+= value.load(at: index & 4088, as: UInt64.self)! } } / 100_000
    }
    print("load of 8 bytes \((loading.median * 1e9).fixed()) ns\(sum == 0 ? " (0)" : "")")
}

do {
    let times = (0..<9).map { _ in
        seconds { for _ in 0..<2000 { _ = PurgeableBytes(copying: [UInt8](repeating: 1, count: 4096)) } } / 2000
    }
    print("init and deinit of 4 KiB \((times.median * 1e6).fixed()) us")
    let values = (0..<64).map { _ in PurgeableBytes(copying: content(1 << 20)) }
    let before = residentBytes()
    for value in values { value.discardContentIfPossible() }
    let freed = Double(before - residentBytes()) / Double(64 << 20)
    report.row("resident memory kept of 64 MiB discarded", 1 - freed, "of it", atMost: 0.01)
}

exit(report.missed > 0 ? 1 : 0)
