//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The table as a drawing: a group of bars a workload, a bar an implementation.
struct ThroughputChart {
    let table: ThroughputTable

    private static let barHeight = 17.0, left = 150.0, width = 860.0, valueRoom = 60.0

    var svg: String {
        let scaleWidth = Self.width - Self.left - Self.valueRoom
        var y = 58.0
        var body = ""
        for measurement in table.measurements {
            guard let values = table.medians[measurement], let most = values.values.max(), most > 0 else { continue }
            let plural = measurement.threads == 1 ? "1 thread" : "\(measurement.threads) threads"
            let title = "\(Self.titles[measurement.workload] ?? ""), \(plural)"
            body += "<text x=\"20\" y=\"\(y + 4)\" font-weight=\"bold\">\(title)</text>\n"
            y += 14
            for name in table.names {
                guard let value = values[name] else { continue }
                let length = max(1, value / most * scaleWidth)
                let color = name.hasPrefix("MemoryCache") || name.hasPrefix("NSCache") ? "#0b62d6" : "#b8bec8"
                body += "<text x=\"\(Self.left - 8)\" y=\"\(y + 12)\" text-anchor=\"end\">\(name)</text>\n"
                body += "<rect x=\"\(Self.left)\" y=\"\(y + 1)\" width=\"\(String(format: "%.1f", length))\" "
                body += "height=\"\(Self.barHeight - 3)\" rx=\"2\" fill=\"\(color)\"/>\n"
                body += "<text x=\"\(String(format: "%.1f", Self.left + length + 6))\" y=\"\(y + 12)\" fill=\"#444\">"
                body += "\(ThroughputTable.number(value))</text>\n"
                y += Self.barHeight
            }
            y += 18
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(y))" \
            width="\(Int(Self.width))" height="\(Int(y))" font-family="Helvetica, Arial, sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="#ffffff"/>
            <text x="20" y="26" font-size="16" font-weight="bold">Millions of requests a second</text>
            <text x="20" y="43" fill="#666">Zipf 0.99, 64-bit keys and values, \
            \(ProcessInfo.processInfo.activeProcessorCount) cores, medians of one sitting</text>
            \(body)</svg>

            """
    }

    private static let titles: [Workload: String] = [
        .hit100k: "Hit, 100,000 keys", .hit1M: "Hit, 1,000,000 keys",
        .getOrSet: "Get or set, 100,000 of 1,000,000 keys", .mixed: "Half gets, half sets, 100,000 of 1,000,000 keys",
    ]
}
