//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import MemoryCaching
import Synchronization

/// Many unlimited caches that are filled by many threads at once. Says how many insertions each second saw, and what
/// the caches held in it at least and on the mean, looked at every 20 ms: none of them may stand still while all of
/// them need memory, and together they may not be empty.
///     memory-fill crowd CACHES THREADS BYTES SECONDS
/// THREADS is that of each cache.
enum Crowd {
    static func run(caches: Int, threads: Int, bytes: Int, seconds: Int) {
        let caches = (0..<caches).map { _ in MemoryCache<Int, [UInt8]>() }
        let count = Count()
        for cache in caches {
            for thread in 0..<threads {
                Thread.detachNewThread {
                    var key = thread
                    while true {
                        cache[key] = [UInt8](repeating: MemoryFill.pattern(key), count: bytes)
                        key += threads
                        count.insertions.add(1, ordering: .relaxed)
                    }
                }
            }
        }
        var rates: [Int] = []
        var leastHeld: [Int] = []
        var meanHeld: [Int] = []
        var last = 0
        for _ in 0..<seconds {
            let begin = ContinuousClock.now
            var looks: [Int] = []
            while ContinuousClock.now - begin < .seconds(1) {
                Thread.sleep(forTimeInterval: 0.02)
                looks.append((caches.reduce(0) { $0 + $1.count } * bytes) >> 20)
            }
            let now = count.insertions.load(ordering: .relaxed)
            rates.append(Int(Double(now - last) / ((ContinuousClock.now - begin) / .seconds(1))))
            leastHeld.append(looks.min() ?? 0)
            meanHeld.append(looks.reduce(0, +) / max(1, looks.count))
            last = now
        }
        print(
            """
            {"caches": \(caches.count), "bytes": \(bytes), "insertionsPerSecond": \(rates), \
            "leastReadableMebibytes": \(leastHeld), "meanReadableMebibytes": \(meanHeld)}
            """
        )
        exit(0)
    }

    private final class Count: Sendable {
        let insertions = Atomic(0)
    }
}
