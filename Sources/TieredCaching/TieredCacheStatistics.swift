//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

public import MemoryCaching
import Synchronization

/// What a ``TieredCache`` has done so far, by tier.
public struct TieredCacheStatistics: Sendable {
    /// Lookups answered by the near cache.
    public var nearHits = 0
    /// Lookups answered by the remote tier. Callers that share one lookup count once.
    public var remoteHits = 0
    /// Calls of the origin.
    public var loads = 0
    /// Calls of the origin that threw.
    public var loadFailures = 0
    /// Lookups that waited for whoever has the lease to make the value: another process, or a load that the callers in
    /// this one have left. Callers that share one lookup count once.
    public var leaseWaits = 0
    /// Lookups answered with a value that was no longer fresh, or not known to be current.
    public var staleHits = 0
    /// Reports of changed keys by the remote tier, those of keys whose lease has ended among them. A change of this
    /// process is reported once when it is done, and again by a server that knew that this process had read the key.
    public var invalidations = 0
    /// Generations of the near cache: connections, flushes and cleared keyspaces. A cache that clears its own keyspace
    /// begins two, before it and after.
    public var generations = 0
    /// Operations of the remote tier that failed or did not answer in time.
    public var remoteFailures = 0
    /// Lookups that did not ask the remote tier, because it has failed repeatedly.
    public var remoteSkips = 0
    /// Values that the remote tier did not store, because the key had changed while they were loaded, or because the
    /// load took longer than ``TieredCacheOptions/leaseTime``.
    public var refusedFills = 0
    /// Values that the remote tier did not store for lack of memory, or because they or their keys are too large, or
    /// cannot be encoded; each time that it was tried. These are no failures of the remote tier.
    public var unstorable = 0
    /// Values in the remote tier that could not be decoded.
    public var undecodable = 0
    /// What the near cache holds and has removed. Its lookups are not those of the tiered cache.
    public var near = CacheStatistics()
}

extension TieredCacheStatistics: CustomStringConvertible {
    /// The statistics as a few lines for people. What has not happened is not mentioned:
    ///
    /// ```
    /// near         120,334 hits, 12 stale, 12,034 entries
    /// remote       8,896 hits, 12 failures, 301 skipped
    /// loads        3,012, 2 failed, 40 waited for another process
    /// changes      5,120 keys, 3 generations
    /// ```
    public var description: String {
        var text = StatisticsText()
        text.add(
            "near",
            "\(nearHits.grouped) hits" + StatisticsText.counts((staleHits, "stale"), (near.count, "entries"))
        )
        text.add(
            "remote",
            "\(remoteHits.grouped) hits"
                + StatisticsText.counts(
                    (remoteFailures, "failures"),
                    (remoteSkips, "skipped"),
                    (refusedFills, "refused fills"),
                    (unstorable, "not storable"),
                    (undecodable, "not decodable")
                )
        )
        if loads + leaseWaits > 0 {
            let counts = StatisticsText.counts((loadFailures, "failed"), (leaseWaits, "waited for another process"))
            text.add("loads", loads.grouped + counts)
        }
        if invalidations + generations > 0 {
            text.add("changes", "\(invalidations.grouped) keys" + StatisticsText.counts((generations, "generations")))
        }
        return text.lines
    }
}

/// Counts off the path of hits.
final class TierCounters: Sendable {
    let remoteHits = Atomic(0), loads = Atomic(0), loadFailures = Atomic(0), leaseWaits = Atomic(0)
    let staleHits = Atomic(0), invalidations = Atomic(0), generations = Atomic(0), remoteFailures = Atomic(0)
    let remoteSkips = Atomic(0), refusedFills = Atomic(0), unstorable = Atomic(0), undecodable = Atomic(0)
    /// Near entries that were found but could not be served: hits of the engine that were none.
    let unservedHits = Atomic(0)

    /// All of it, beside what the near cache says.
    func snapshot(near: CacheStatistics) -> TieredCacheStatistics {
        var statistics = TieredCacheStatistics(near: near)
        statistics.nearHits = max(0, near.hits - unservedHits.load(ordering: .relaxed))
        statistics.remoteHits = remoteHits.load(ordering: .relaxed)
        statistics.loads = loads.load(ordering: .relaxed)
        statistics.loadFailures = loadFailures.load(ordering: .relaxed)
        statistics.leaseWaits = leaseWaits.load(ordering: .relaxed)
        statistics.staleHits = staleHits.load(ordering: .relaxed)
        statistics.invalidations = invalidations.load(ordering: .relaxed)
        statistics.generations = generations.load(ordering: .relaxed)
        statistics.remoteFailures = remoteFailures.load(ordering: .relaxed)
        statistics.remoteSkips = remoteSkips.load(ordering: .relaxed)
        statistics.refusedFills = refusedFills.load(ordering: .relaxed)
        statistics.unstorable = unstorable.load(ordering: .relaxed)
        statistics.undecodable = undecodable.load(ordering: .relaxed)
        return statistics
    }
}

extension Atomic<Int> {
    /// Counts one more, or `amount`.
    func count(_ amount: Int = 1) { add(amount, ordering: .relaxed) }
}
