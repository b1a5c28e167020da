//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Statistics as lines for people: a label and what there is to say.
package struct StatisticsText {
    /// The lines so far.
    package private(set) var lines = ""

    /// No line yet.
    package init() {}

    /// Adds a line; `label` has at most 12 letters.
    package mutating func add(_ label: String, _ text: String) {
        if !lines.isEmpty { lines += "\n" }
        lines += label + String(repeating: " ", count: 13 - label.count) + text
    }

    /// Those of `counts` that are not 0, each behind a comma: ", 12 failed, 3 skipped".
    package static func counts(_ counts: (Int, String)...) -> String {
        counts.filter { $0.0 > 0 }.map { ", \($0.0.grouped) \($0.1)" }.joined()
    }
}

// Formatting by hand, because what formats for people is in Foundation, which this module does without.

extension Int {
    /// The number with commas between groups of three digits.
    package var grouped: String {
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
