//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// What the governor costs an insertion and a hit: the same work in a cache that takes part and in one that does not,
/// in turns, so that whatever else the machine does meets both.
///     memory-fill overhead
enum Overhead {
    static func run() {
        for bytes in [0, 200, 4096] {
            report("insertion", bytes, measureInsertions(bytes))
        }
        report("hit", 0, measureHits())
        reportAnnouncements()
    }

    /// What `withFree` costs where the memory is free.
    private static func reportAnnouncements() {
        let cache = MemoryCache<Int, [UInt8]>()
        cache[0] = []
        let times = (0..<1001).map { _ in ContinuousClock().measure { MemoryReserve.withFree(bytes: 1 << 20) { _ in } }
        }
        print("{\"announcement\": 0, \"microseconds\": \(times.sorted()[500] / .microseconds(1))}")
        withExtendedLifetime(cache) {}
    }

    private static let count = 100_000
    private static let rounds = 31

    /// Nanoseconds each: the cache that takes part, the one that does not.
    private static func measureInsertions(_ bytes: Int) -> [(Double, Double)] {
        measure { cache in
            for key in 0..<count { cache[key] = [UInt8](repeating: 1, count: bytes) }
        } prepare: { cache in
            cache.removeAll()
        }
    }

    private static func measureHits() -> [(Double, Double)] {
        var filled: Set<ObjectIdentifier> = []
        return measure { cache in
            var found = 0
            for key in 0..<count where cache[key] != nil { found += 1 }
            precondition(found == count)
        } prepare: { cache in
            guard filled.insert(ObjectIdentifier(cache)).inserted else { return }
            for key in 0..<count { cache[key] = [] }
        }
    }

    private static func measure(
        _ body: (MemoryCache<Int, [UInt8]>) -> Void,
        prepare: (MemoryCache<Int, [UInt8]>) -> Void
    ) -> [(Double, Double)] {
        var apart = MemoryCacheOptions<Int, [UInt8]>()
        apart.evictsUnderMemoryPressure = false
        let caches = [MemoryCache<Int, [UInt8]>(), MemoryCache(options: apart)]
        let clock = ContinuousClock()
        return (0..<rounds).map { round in
            var nanoseconds = [0.0, 0.0]
            for index in round % 2 == 0 ? [0, 1] : [1, 0] {
                prepare(caches[index])
                nanoseconds[index] = clock.measure { body(caches[index]) } / .nanoseconds(1) / Double(count)
            }
            return (nanoseconds[0], nanoseconds[1])
        }
    }

    private static func report(_ name: String, _ bytes: Int, _ pairs: [(Double, Double)]) {
        let ratios = pairs.map { $0.0 / $0.1 }.sorted()
        let governed = pairs.map(\.0).sorted()[pairs.count / 2]
        let free = pairs.map(\.1).sorted()[pairs.count / 2]
        func rounded(_ value: Double, _ scale: Double) -> Double { (value * scale).rounded() / scale }
        print(
            """
            {"\(name)": \(bytes), "governedNanoseconds": \(rounded(governed, 10)), \
            "freeNanoseconds": \(rounded(free, 10)), "ratio": \(rounded(ratios[ratios.count / 2], 1000))}
            """
        )
    }
}
