//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import ArgumentParser
import Foundation

/// A number of bytes as people write it: `256MiB`, `100m`, `1.5 GiB`, `65536`. Units are powers of 1024.
struct ByteCount: ExpressibleByArgument, Codable, Equatable, Sendable, CustomStringConvertible {
    var bytes: Int

    init(_ bytes: Int) { self.bytes = bytes }

    static func mebibytes(_ count: Int) -> ByteCount { ByteCount(count << 20) }

    init?(argument: String) {
        let text = argument.lowercased().filter { !$0.isWhitespace }
        let digits = text.prefix { $0.isNumber || $0 == "." }
        let units = [
            "": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30,
        ]
        guard let number = Double(digits), let shift = units[String(text.dropFirst(digits.count))] else { return nil }
        let bytes = (number * Double(1 << shift)).rounded()
        guard bytes >= 0, bytes < 0x1p53 else { return nil }
        self.bytes = Int(bytes)
    }

    /// With the unit that leaves at most three digits before the point: `2.0 KiB`, `241 MiB`.
    var description: String {
        var amount = Double(bytes)
        for unit in ["B", "KiB", "MiB"] {
            if amount < 1000 { return Self.short(amount) + " " + unit }
            amount /= 1024
        }
        return Self.short(amount) + " GiB"
    }

    var defaultValueDescription: String { description.filter { $0 != " " } }

    private static func short(_ amount: Double) -> String {
        amount < 10 && amount != amount.rounded() ? String(format: "%.1f", amount) : String(format: "%.0f", amount)
    }
}
