//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

extension CacheStatistics: CustomStringConvertible {
    /// The statistics as a few lines for people. What has not happened is not mentioned:
    ///
    /// ```
    /// held         12,034 entries, cost 50,593,792
    /// lookups      129,230, hit rate 93.1 % (8,896 misses)
    /// insertions   8,884
    /// evictions    4,020 (3,900 cost limit, 120 memory pressure)
    /// loads        8,896 taking 3.12 ms on average, 12 failed, 301 callers shared one
    /// ```
    public var description: String {
        var text = StatisticsText()
        text.add("held", "\(count.grouped) \(count == 1 ? "entry" : "entries"), cost \(totalCost.grouped)")
        let lookups = hits + misses
        if lookups > 0 {
            let missed = "\(misses.grouped) \(misses == 1 ? "miss" : "misses")"
            text.add("lookups", "\(lookups.grouped), hit rate \(hitRate.percent) (\(missed))")
        }
        if insertions + refusals > 0 {
            text.add("insertions", insertions.grouped + (refusals > 0 ? ", \(refusals.grouped) refused" : ""))
        }
        let replaced = [RemovalCause.replaced, .removed].filter { removals($0) > 0 }
        if !replaced.isEmpty {
            text.add("removals", replaced.map { "\(removals($0).grouped) \($0.words)" }.joined(separator: ", "))
        }
        if evictions > 0 {
            let causes = RemovalCause.allCases.filter { $0 != .replaced && $0 != .removed && removals($0) > 0 }
            let details = causes.map { "\(removals($0).grouped) \($0.words)" }.joined(separator: ", ")
            text.add("evictions", "\(evictions.grouped) (\(details))")
        }
        if loads + coalescedLoads + fallbacks > 0 {
            let time = loads > 0 ? " taking \((totalLoadTime / loads).brief) on average" : ""
            text.add(
                "loads",
                loads.grouped + time
                    + StatisticsText.counts(
                        (loadFailures, "failed"),
                        (coalescedLoads, "callers shared one"),
                        (fallbacks, "fallbacks")
                    )
            )
        }
        if bytesAskedUnderPressure > 0 {
            text.add(
                "pressure",
                "asked for \(bytesAskedUnderPressure.grouped) bytes, gave \(bytesReturnedUnderPressure.grouped)"
            )
        }
        if volatileBytes > 0 || purged > 0 {
            text.add("purgeable", "\(volatileBytes.grouped) bytes volatile, \(purged.grouped) values purged")
        }
        return text.lines
    }
}

extension RemovalCause {
    /// The cause in words, as in "120 memory pressure".
    var words: String {
        switch self {
        case .countLimit: "count limit"
        case .costLimit: "cost limit"
        case .expired: "expired"
        case .memoryPressure: "memory pressure"
        case .discarded: "discarded"
        case .replaced: "replaced"
        case .removed: "removed"
        }
    }
}
