//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Numbers as people read them, the same in every locale.
public enum Quantity {
    /// 64000000 → "64 MB".
    public static func bytes(_ count: Int) -> String {
        var value = Double(count), unit = "B"
        for larger in ["kB", "MB", "GB", "TB"] where value >= 1000 {
            value /= 1000
            unit = larger
        }
        return "\(value < 10 || unit == "B" ? plain(value, decimals: 2) : plain(value, decimals: 1)) \(unit)"
    }

    /// With so many decimals, all of them shown.
    public static func fixed(_ value: Double, decimals: Int) -> String {
        guard value.isFinite else { return "–" }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = (abs(value) * scale).rounded()
        guard scaled < 0x1p62 else { return "\(value)" }
        let digits = String(Int(scaled))
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        let sign = value < 0 && scaled > 0 ? "-" : ""
        return decimals == 0 ? sign + padded : "\(sign)\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
    }

    /// With at most so many decimals, none of them a closing zero.
    public static func plain(_ value: Double, decimals: Int = 3) -> String {
        var text = fixed(value, decimals: decimals)
        if text.contains(".") {
            while text.last == "0" { text.removeLast() }
            if text.last == "." { text.removeLast() }
        }
        return text
    }

    /// 0.123 → "12.3 %".
    public static func percent(_ ratio: Double, decimals: Int = 1) -> String {
        "\(fixed(ratio * 100, decimals: decimals)) %"
    }
}
