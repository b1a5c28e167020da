//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// Drops the entries of large values that the kernel has taken, and the oldest of those that it cannot take where
    /// they are more than may stay.
    ///
    /// One system call a value, with no lock held.
    func lookAfterLargeValues(ordinaryBudget: Int) {
        guard largeBytes.load(ordering: .relaxed) > 0 else { return }
        var ordinary: [(shard: Int, large: LargeSlot)] = []
        for shard in 0..<Self.shardCount {
            let values = shards[shard].lock.withLock { _ in shards[shard].state.large }
            for case let large? in values {
                if large.value.isDiscarded {
                    drop(large, shard, .discarded)
                } else if large.value.isOrdinary {
                    ordinary.append((shard, large))
                }
            }
        }
        var bytes = ordinary.reduce(0) { $0 + $1.large.value.byteCount }
        if bytes > ordinaryBudget {
            for (shard, large) in ordinary.sorted(by: { $0.large.serial < $1.large.serial })
            where bytes > ordinaryBudget {
                bytes -= drop(large, shard, .memoryPressure)
            }
        }
        largeOrdinary.store(max(0, bytes), ordering: .relaxed)
    }

    /// Removes a large value's entry unless it holds another value by now; returns the bytes that this freed.
    @discardableResult
    func drop(_ large: LargeSlot, _ shard: Int, _ cause: RemovalCause) -> Int {
        var departures = Departures()
        shards[shard].lock.withLock { _ in
            guard shards[shard].state.holds(large.location, in: large.slot) else { return }
            let hash = hash(shards[shard].state.index[large.slot].pointee.word)
            take(large.slot, hash, &shards[shard].state, shard, &departures)
        }
        return settle(&departures, cause)
    }
}
