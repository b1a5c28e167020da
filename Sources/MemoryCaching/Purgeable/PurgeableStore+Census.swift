//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

internal import MemoryPressure
internal import PurgeableMemory
internal import Synchronization

extension PurgeableStore {
    /// Bytes inserted so far, in steps of a segment.
    private var insertedBytes: Int {
        log.sealedSegments * SegmentLog.segmentBytes + largeInserted.load(ordering: .relaxed)
    }

    /// Looks after the cache if enough has been inserted since the last time. A load and a comparison otherwise.
    @inline(__always)
    func maintainIfDue() {
        let since = insertedBytes &- maintenance.insertedAtCensus.load(ordering: .relaxed)
        if since >= maintenance.interval.load(ordering: .relaxed) { maintain(cleaning: true) }
    }

    /// Looks after the cache if a second has passed; called every few thousand lookups.
    func maintainIfSecondPassed() {
        let elapsed = PurgeableMaintenance.now() &- maintenance.lastCensus.load(ordering: .relaxed)
        if elapsed >= PurgeableMaintenance.nanosecondsBetween { maintain() }
    }

    /// Takes a census of the pages and acts on it: entries of lost items go, segments are cleaned as the policy says.
    /// Does nothing if another thread is at it.
    ///
    /// No lock of a shard is held across a system call or for more than a thousand entries.
    ///
    /// - Parameter cleaning: whether segments may be cleaned, which evicts; a look at the count does not.
    func maintain(cleaning: Bool = false) {
        guard !maintenance.isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return }
        defer { maintenance.isRunning.store(false, ordering: .releasing) }
        let inserted = insertedBytes
        let since = inserted - maintenance.insertedAtCensus.load(ordering: .relaxed)
        if cleaning { maintenance.insertedAtCensus.store(inserted, ordering: .relaxed) }
        maintenance.lastCensus.store(PurgeableMaintenance.now(), ordering: .relaxed)
        let census = log.takeCensus()
        residentBytes.store(census.volatileBytes, ordering: .relaxed)
        let interval = max(
            PurgeableMaintenance.leastInterval,
            (census.volatileBytes + largeBytes.load(ordering: .relaxed)) / PurgeableMaintenance.intervalShare
        )
        maintenance.interval.store(interval, ordering: .relaxed)
        let budget = ordinaryBudget()
        var decision = SegmentPolicy.Decision()
        lostBytes += census.newlyLost * ItemLayout.pageBytes
        if cleaning {
            decision = policy.decide(
                census.segments.map(SegmentPolicy.Candidate.init),
                lostBytes: lostBytes,
                insertedBytes: since,
                ordinaryBudget: budget
            )
            lostBytes = 0
        }
        for number in decision.drop { empty(number, .memoryPressure) }
        if policy.capacity != nil { rememberGhosts() }
        if !decision.isEmpty || log.takeLosses() > 0 || staleCount.load(ordering: .relaxed) > 0 || log.needsSweep {
            sweep(promoting: decision.promote, compacting: decision.compact)
            shrink()
        }
        lookAfterLargeValues(ordinaryBudget: budget)
    }

    /// Bytes of values that the kernel cannot take which may stay: an eighth of what the process may use. Asked for
    /// only when there are such.
    private func ordinaryBudget() -> Int {
        if let givenOrdinaryBudget { return givenOrdinaryBudget }
        guard
            log.ordinaryBytes > SegmentLog.streamCount * SegmentLog.segmentBytes
                || largeOrdinary.load(ordering: .relaxed) > 0
        else { return .max }
        let limit = MemoryBudget.current().limitBytes ?? Self.assumedLimit
        return max(Self.leastOrdinaryBudget, limit / 8)
    }

    /// Empties a segment with all that is alive in it; returns the bytes of values that were.
    @discardableResult
    func empty(_ segment: Int, _ cause: RemovalCause) -> Int {
        guard let life = log.retire(segment) else { return 0 }
        staleCount.wrappingAdd(life.items, ordering: .relaxed)
        account(count: -life.items, bytes: -life.bytes)
        counters.removed(life.items, cause)
        return life.bytes
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
        statistics.volatileBytes = residentBytes.load(ordering: .relaxed) + largeBytes.load(ordering: .relaxed)
        return statistics
    }
}

extension SegmentPolicy.Candidate {
    init(_ census: SegmentLog.SegmentCensus) {
        self.init(
            number: census.segment,
            stream: census.stream,
            // A tag and rounding to 8 bytes.
            liveBytes: census.life.bytes + census.life.items * 12,
            residentBytes: (SegmentLog.SegmentCensus.pages - census.pagesLost) * ItemLayout.pageBytes,
            isVolatile: census.isVolatile
        )
    }
}
