//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// Large values that are asked about in one turn: a system call each, 0.9 µs.
    static let largeValuesPerTurn = 64

    /// Drops the entries of some large values that the kernel has taken, by turns; and the oldest of those that it
    /// cannot take, where they are more than may stay.
    ///
    /// No lock is held across a system call. Where the kernel refuses to take pages all large values are looked at.
    func lookAfterLargeValues(ordinaryLimit: Int) {
        guard largeBytes.load(ordering: .relaxed) > 0 else { return }
        var hasOrdinary = largeOrdinary.load(ordering: .relaxed) > 0
        for (shard, large) in nextLargeValues() {
            if large.value.isContentDiscarded {
                drop(large, shard, .discarded)
            } else if large.value.countsAsOrdinaryMemory {
                hasOrdinary = true
            }
        }
        if hasOrdinary { keepOrdinary(within: ordinaryLimit) }
    }

    /// The large values whose turn it is.
    private func nextLargeValues() -> [(shard: Int, large: LargeSlot)] {
        var next: [(shard: Int, large: LargeSlot)] = []
        // Once round at most, the rest of the first shard included.
        for _ in 0...Self.shardCount where next.count < Self.largeValuesPerTurn {
            let shard = chores.largeShard
            locked(shard: shard) { state in
                while chores.largePlace < state.large.count, next.count < Self.largeValuesPerTurn {
                    if let large = state.large[chores.largePlace] { next.append((shard, large)) }
                    chores.largePlace += 1
                }
                guard chores.largePlace >= state.large.count else { return }
                chores.largePlace = 0
                chores.largeShard = (shard + 1) % Self.shardCount
            }
        }
        return next
    }

    private func keepOrdinary(within limit: Int) {
        let ordinary = largeValues { $0.countsAsOrdinaryMemory }
        var bytes = ordinary.reduce(0) { $0 + $1.large.value.byteCount }
        for (shard, large) in ordinary where bytes > limit { bytes -= drop(large, shard, .memoryPressure) }
        largeOrdinary.store(max(0, bytes), ordering: .relaxed)
    }

    /// Evicts the oldest large values until `bytes` bytes are free; returns how many that freed.
    func evictLargeValues(bytes: Int) -> Int {
        guard bytes > 0, largeBytes.load(ordering: .relaxed) > 0 else { return 0 }
        var freed = 0
        for (shard, large) in largeValues(where: { _ in true }) where freed < bytes {
            freed += drop(large, shard, .memoryPressure)
            // One at a time: a copy of each value is made for whoever is told.
            tellRemovals()
        }
        return freed
    }

    /// The large values that `isWanted` names, oldest first.
    private func largeValues(where isWanted: (PurgeableBytes) -> Bool) -> [(shard: Int, large: LargeSlot)] {
        var all: [(shard: Int, large: LargeSlot)] = []
        for shard in 0..<Self.shardCount {
            let values = locked(shard: shard) { $0.large }
            for case let large? in values where isWanted(large.value) { all.append((shard, large)) }
        }
        return all.sorted { $0.large.serial < $1.large.serial }
    }

    /// Removes a large value's entry unless it holds another value by now; returns the bytes that this freed.
    @discardableResult
    func drop(_ large: LargeSlot, _ shard: Int, _ cause: RemovalCause) -> Int {
        var departures = PurgeableDepartures()
        locked(shard: shard) { state in
            guard state.holds(large.location, in: large.slot) else { return }
            take(large.slot, hash(state.index[large.slot].pointee.word), &state, shard, &departures)
        }
        let bytes = departures.bytes
        settle(&departures, cause)
        return bytes
    }
}
