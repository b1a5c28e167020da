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
        var lines: [(label: String, text: String)] = []
        lines.append(("held", "\(count.grouped) \(count == 1 ? "entry" : "entries"), cost \(totalCost.grouped)"))
        let lookups = hits + misses
        if lookups > 0 {
            lines.append(
                (
                    "lookups",
                    "\(lookups.grouped), hit rate \(hitRate.percent) (\(misses.grouped) \(misses == 1 ? "miss" : "misses"))"
                )
            )
        }
        if insertions + refusals > 0 {
            lines.append(("insertions", insertions.grouped + (refusals > 0 ? ", \(refusals.grouped) refused" : "")))
        }
        let replaced = [RemovalCause.replaced, .removed].filter { removals($0) > 0 }
        if !replaced.isEmpty {
            lines.append(("removals", replaced.map { "\(removals($0).grouped) \($0.words)" }.joined(separator: ", ")))
        }
        if evictions > 0 {
            let causes = RemovalCause.allCases.filter { $0 != .replaced && $0 != .removed && removals($0) > 0 }
            let details = causes.map { "\(removals($0).grouped) \($0.words)" }.joined(separator: ", ")
            lines.append(("evictions", "\(evictions.grouped) (\(details))"))
        }
        if loads + coalescedLoads + fallbacks > 0 {
            var text = loads.grouped
            if loads > 0 { text += " taking \((totalLoadTime / loads).brief) on average" }
            if loadFailures > 0 { text += ", \(loadFailures.grouped) failed" }
            if coalescedLoads > 0 { text += ", \(coalescedLoads.grouped) callers shared one" }
            if fallbacks > 0 { text += ", \(fallbacks.grouped) fallbacks" }
            lines.append(("loads", text))
        }
        if bytesAskedUnderPressure > 0 {
            lines.append(
                (
                    "pressure",
                    "asked for \(bytesAskedUnderPressure.grouped) bytes, gave \(bytesReturnedUnderPressure.grouped)"
                )
            )
        }
        if volatileBytes > 0 || purged > 0 {
            lines.append(("purgeable", "\(volatileBytes.grouped) bytes volatile, \(purged.grouped) values purged"))
        }
        return lines.map { line in
            line.label + String(repeating: " ", count: 13 - line.label.count) + line.text
        }.joined(separator: "\n")
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

// Formatting by hand, because what formats for people is in Foundation, which this module does without.

extension Int {
    /// The number with commas between groups of three digits.
    var grouped: String {
        let digits = String(magnitude)
        var result = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
            result.append(digit)
        }
        return result
    }
}

extension Double {
    /// A share of 1 in percent, with one decimal.
    var percent: String {
        let tenths = Int((self * 1000).rounded())
        return "\(tenths / 10).\(tenths % 10) %"
    }
}

extension Duration {
    /// Three digits and a unit, as in "3.12 ms".
    var brief: String {
        let nanoseconds = Double(saturatedNanoseconds)
        var (value, unit) = (nanoseconds, "ns")
        for next in ["µs", "ms", "s"] where value >= 999.5 { (value, unit) = (value / 1000, next) }
        let decimals = value >= 99.95 || unit == "ns" ? 0 : value >= 9.995 ? 1 : 2
        let scale = [1, 10, 100][decimals]
        let scaled = Int((value * Double(scale)).rounded())
        guard decimals > 0 else { return "\(scaled) \(unit)" }
        let fraction = String(scaled % scale)
        return "\(scaled / scale).\(String(repeating: "0", count: decimals - fraction.count))\(fraction) \(unit)"
    }
}
