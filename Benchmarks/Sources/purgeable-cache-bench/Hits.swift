//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import BenchSupport
import CacheSimulation
import MemoryCaching

/// The time of a hit beside `Dictionary<UInt64, [UInt8]>`, both giving a fresh array, and the memory beyond payload and
/// key.
struct Hits: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Times hits, and weighs what an item takes beside itself."
    )

    @Option(help: "Values held.") var items = 1_000_000
    @Option(help: "Bytes of a value.") var size = 100
    @Option(help: "Lookups a round.") var lookups = 2_000_000
    @Option(help: "Rounds; the median counts.") var rounds = 5

    func run() {
        var numbers = SeededGenerator(seed: 7)
        let keys = (0..<lookups).map { _ in numbers.next() % UInt64(items) }
        let payload = [UInt8](repeating: 1, count: size)
        let before = residentBytes()
        let cache = PurgeableCache<UInt64>()
        let insertion = nanoseconds(per: items) {
            for key in 0..<UInt64(items) { cache.setBytes(payload, forKey: key) }
        }
        let beside = Double(residentBytes() - before) / Double(items) - Double(size + 8)
        var dictionary: [UInt64: [UInt8]] = [:]
        for key in 0..<UInt64(items) { dictionary[key] = payload.map { $0 } }
        var ratios: [Double] = []
        var times: [Double] = []
        for _ in 0..<rounds {
            var sum = 0
            let ordinary = nanoseconds(per: lookups) {
                for key in keys { sum &+= Self.use(dictionary[key].map(Self.copy)) }
            }
            let purgeable = nanoseconds(per: lookups) {
                for key in keys { sum &+= Self.use(cache.bytes(forKey: key)) }
            }
            precondition(sum == 2 * lookups * (size + 1), "every lookup is a hit")
            ratios.append(purgeable / ordinary)
            times.append(purgeable)
        }
        print("items \(items) size \(size): hit \(times.median) ns, \(ratios.median) x dictionary with copy")
        print("insertion \(insertion) ns; \(beside) bytes an item beside payload and key")
    }

    /// A fresh array, as the cache makes one.
    @inline(never)
    private static func copy(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
            bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
            count = bytes.count
        }
    }

    @inline(never)
    private static func use(_ bytes: [UInt8]?) -> Int { bytes.map { $0.count + Int($0[0]) } ?? 0 }
}
