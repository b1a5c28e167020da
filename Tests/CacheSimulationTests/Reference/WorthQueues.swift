//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

@testable import CacheSimulation

/// FIFO queues of keys by bucket of worth, four buckets an octave; prices rise along each of them.
struct WorthQueues {
    private struct Queue {
        let bucket: UInt64
        var keys: [(key: UInt32, price: Double)] = []
        var head = 0
    }

    private var queues: [Queue] = []
    private var places: [UInt64: Int] = [:]

    /// The bucket of a worth: its exponent and two bits of its mantissa.
    static func bucket(_ worth: Double) -> UInt64 { worth.bitPattern >> 50 }
    /// The worth that all of a bucket count as.
    static func worth(_ bucket: UInt64) -> Double { Double(bitPattern: bucket << 50) }

    /// Puts `key` at the end of the queue of `bucket`.
    mutating func append(_ key: Int, price: Double, to bucket: UInt64) {
        let place = places[bucket] ?? queues.count
        if place == queues.count {
            queues.append(Queue(bucket: bucket))
            places[bucket] = place
        }
        queues[place].keys.append((UInt32(key), price))
    }

    /// Takes out the key of the least price.
    mutating func removeLeast() -> (key: Int, price: Double, bucket: UInt64)? {
        var least = Double.infinity, chosen = -1
        for place in queues.indices where queues[place].head < queues[place].keys.count {
            let price = queues[place].keys[queues[place].head].price
            if price < least { (least, chosen) = (price, place) }
        }
        guard chosen >= 0 else { return nil }
        let first = queues[chosen].keys[queues[chosen].head]
        queues[chosen].head += 1
        if queues[chosen].head > 1024, queues[chosen].head * 2 > queues[chosen].keys.count {
            queues[chosen].keys.removeFirst(queues[chosen].head)
            queues[chosen].head = 0
        }
        return (Int(first.key), first.price, queues[chosen].bucket)
    }
}
