//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import Foundation

/// The table as a drawing: a row of panels a workload, a panel a number of threads, a bar an implementation.
struct ThroughputChart {
    let table: ThroughputTable

    private static let barHeight = 17.0, nameRoom = 142.0, panelWidth = 440.0, valueRoom = 44.0, top = 62.0

    var svg: String {
        let threads = Set(table.measurements.map(\.threads)).sorted()
        let workloads = table.measurements.map(\.workload).unique
        let panelHeight = 36 + Double(table.names.count) * Self.barHeight
        var panels: [String] = []
        for (row, workload) in workloads.enumerated() {
            for (column, count) in threads.enumerated() {
                guard let values = table.medians[Measurement(workload: workload, threads: count)] else { continue }
                // One scale a row: what more threads bring is to be seen.
                let most = threads.compactMap {
                    table.medians[Measurement(workload: workload, threads: $0)]?.values.max()
                }
                let origin = (x: Double(column) * Self.panelWidth, y: Self.top + Double(row) * panelHeight)
                let plural = count == 1 ? "1 thread" : "\(count) threads"
                panels += panel("\(Self.title(workload)), \(plural)", at: origin, values, most.max() ?? 1)
            }
        }
        let heading = "Millions of requests a second"
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return SVG.document(
            width: Double(threads.count) * Self.panelWidth + 10,
            height: Self.top + Double(workloads.count) * panelHeight,
            title: "cache-bench: \(heading.lowercased())",
            style: Self.style,
            [
                SVG.text(heading, 16, 26, "title heading"),
                SVG.text("\(requests), \(cores) cores, medians of one sitting", 16, 44, ""),
            ] + panels
        )
    }

    private func panel(
        _ title: String,
        at origin: (x: Double, y: Double),
        _ values: [String: Double],
        _ most: Double
    ) -> [String] {
        let room = Self.panelWidth - Self.nameRoom - Self.valueRoom
        let bars = origin.x + Self.nameRoom
        var elements = [SVG.text(title, origin.x + 16, origin.y + 12, "title")]
        for (index, name) in table.names.enumerated() {
            guard let value = values[name] else { continue }
            let y = origin.y + 20 + Double(index) * Self.barHeight
            let length = max(1, value / most * room)
            let kind = name.hasPrefix("MemoryCache") || name.hasPrefix("NSCache") ? "ours" : "peer"
            elements += [
                SVG.text(name, bars - 6, y + 12, "end"),
                SVG.rect(bars, y + 1, width: length, height: Self.barHeight - 3, kind),
                SVG.text(ThroughputTable.number(value), bars + length + 5, y + 12, ""),
            ]
        }
        return elements
    }

    private static let style = """
        text{font-size:12px}.title{font-weight:bold;fill:var(--ink)}.heading{font-size:16px}
        .peer{fill:#b8bec8}.ours{fill:#0969da}
        @media (prefers-color-scheme:dark){.peer{fill:#484f58}.ours{fill:#4493f8}}
        """

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
