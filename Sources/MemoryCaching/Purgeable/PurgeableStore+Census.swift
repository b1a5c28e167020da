//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    @inline(__always)
    func maintainIfDue() {
        let sealed = log.sealedSegments
        if sealed &- maintenance.sealedAtCensus.load(ordering: .relaxed) >= PurgeableMaintenance.segmentsBetween {
            maintain()
        }
    }

    /// Takes a census and acts on it, unless another thread is at it.
    func maintain() {
        guard !maintenance.isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return }
        defer { maintenance.isRunning.store(false, ordering: .releasing) }
        maintenance.sealedAtCensus.store(log.sealedSegments, ordering: .relaxed)
        let census = log.takeCensus()
        if census.newlyLost > 0 || staleCount.load(ordering: .relaxed) > 0 || log.needsSweep { sweep() }
    }

    /// Drops the entries of items that are known to be lost. O(entries); no page is touched, and each lock is held for
    /// a thousand entries at a time.
    func sweep() {
        let started = log.sweepStarts()
        let pass = log.gate.enter(0)
        for shard in 0..<Self.shardCount {
            var from = 0
            while true {
                var departures = Departures()
                let start = from
                let next: Int? = shards[shard].lock.withLock { _ in
                    let end = min(start + 1024, shards[shard].state.index.slotCount)
                    if start >= end { return nil }
                    sweep(start..<end, &shards[shard].state, shard, &departures)
                    return end
                }
                settle(&departures, .discarded)
                guard let next else { break }
                from = next
            }
        }
        log.gate.leave(pass)
        log.sweepFinished(started)
    }

    private func sweep(
        _ slots: Range<Int>,
        _ state: inout PurgeableShard.State,
        _ shard: Int,
        _ departures: inout Departures
    ) {
        for slot in slots {
            let entry = state.index[slot].pointee
            guard entry.location != 0 else { continue }
            let location = LogLocation(word: entry.location)
            let isGone =
                location.isLarge
                ? state.large[location.largePlace]!.isDiscarded : log.isStale(location) || log.isKnownLost(location)
            if isGone { take(slot, hash(entry.word), &state, shard, &departures) }
        }
    }

    var statistics: CacheStatistics {
        maintain()
        var statistics = CacheStatistics()
        for shard in 0..<Self.shardCount {
            let (hits, misses, insertions) = shards[shard].lock.withLock { _ in
                let state = shards + shard
                return (state.pointee.state.hits, state.pointee.state.misses, state.pointee.state.insertions)
            }
            statistics.hits += hits
            statistics.misses += misses
            statistics.insertions += insertions
        }
        counters.write(to: &statistics)
        statistics.count = max(0, liveCount.load(ordering: .relaxed))
        statistics.totalCost = max(0, liveBytes.load(ordering: .relaxed))
        statistics.volatileBytes = log.volatileBytes + largeBytes.load(ordering: .relaxed)
        return statistics
    }
}
