//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The table as a drawing: a row of panels a workload, a panel a number of threads, a bar an implementation.
struct ThroughputChart {
    let table: ThroughputTable

    private static let barHeight = 17.0, nameRoom = 142.0, panelWidth = 440.0, valueRoom = 44.0, top = 62.0

    var svg: String {
        let threads = Set(table.measurements.map(\.threads)).sorted()
        let workloads = table.measurements.map(\.workload).unique
        let panelHeight = 36 + Double(table.names.count) * Self.barHeight
        var body = ""
        for (row, workload) in workloads.enumerated() {
            for (column, count) in threads.enumerated() {
                guard let values = table.medians[Measurement(workload: workload, threads: count)] else { continue }
                // One scale a row: what more threads bring is to be seen.
                let most = threads.compactMap {
                    table.medians[Measurement(workload: workload, threads: $0)]?.values.max()
                }
                let origin = (x: Double(column) * Self.panelWidth, y: Self.top + Double(row) * panelHeight)
                body += "<g transform=\"translate(\(origin.x) \(origin.y))\">\n"
                let plural = count == 1 ? "1 thread" : "\(count) threads"
                body += panel("\(Self.title(workload)), \(plural)", values, most.max() ?? 1) + "</g>\n"
            }
        }
        let width = Int(Double(threads.count) * Self.panelWidth) + 10
        let height = Int(Self.top + Double(workloads.count) * panelHeight)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" \
            height="\(height)" font-family="Helvetica, Arial, sans-serif" font-size="12">
            <style>text{fill:#57606a}.page{fill:#fff}.title{fill:#1f2328;font-weight:bold}.peer{fill:#b8bec8}
            .ours{fill:#0969da}@media (prefers-color-scheme:dark){text{fill:#9198a1}.page{fill:#0d1117}
            .title{fill:#e6edf3}.peer{fill:#484f58}.ours{fill:#4493f8}}</style>
            <rect class="page" width="100%" height="100%"/>
            <text class="title" x="16" y="26" font-size="16">Millions of requests a second</text>
            <text x="16" y="44">\(requests), \(ProcessInfo.processInfo.activeProcessorCount) cores, medians of one \
            sitting</text>
            \(body)</svg>

            """
    }

    private func panel(_ title: String, _ values: [String: Double], _ most: Double) -> String {
        let room = Self.panelWidth - Self.nameRoom - Self.valueRoom
        var text = "<text class=\"title\" x=\"16\" y=\"12\">\(title)</text>\n"
        for (index, name) in table.names.enumerated() {
            guard let value = values[name] else { continue }
            let y = 20 + Double(index) * Self.barHeight
            let length = max(1, value / most * room)
            let kind = name.hasPrefix("MemoryCache") || name.hasPrefix("NSCache") ? "ours" : "peer"
            text += "<text x=\"\(Self.nameRoom - 6)\" y=\"\(y + 12)\" text-anchor=\"end\">\(name)</text>\n"
            text += "<rect class=\"\(kind)\" x=\"\(Self.nameRoom)\" y=\"\(y + 1)\" "
            text += "width=\"\(Self.decimal(length))\" height=\"\(Self.barHeight - 3)\" rx=\"2\"/>\n"
            text += "<text x=\"\(Self.decimal(Self.nameRoom + length + 5))\" y=\"\(y + 12)\">"
            text += "\(ThroughputTable.number(value))</text>\n"
        }
        return text
    }

    private static func decimal(_ value: Double) -> String { String(format: "%.1f", value) }

    /// What is asked for, for the line under the heading.
    private var requests: String {
        let distributions = table.measurements.map(\.workload.requests).unique
        let names = distributions.map { $0 == .zipf ? "Zipf 0.99" : "uniform" }
        let keys = table.keys == .integer ? "64-bit keys and values" : "\(table.keys.rawValue) keys"
        return "\(names.joined(separator: " and ")), \(keys)"
    }

    private static func title(_ workload: Workload) -> String {
        let title =
            switch workload.with(.zipf) {
            case .hit100k: "Hit, 100,000 keys"
            case .hit1M: "Hit, 1,000,000 keys"
            case .getOrSet: "Get or set, 100,000 of 1,000,000"
            case .mix(writes: 50): "Half gets, half sets, 100,000 of 1,000,000"
            default: "\(workload.name) gets/sets, 100,000 of 1,000,000"
            }
        return workload.requests == .zipf ? title : title + ", uniform"
    }
}
