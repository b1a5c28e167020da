//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Miss-ratio curves as an SVG drawing: a panel a trace, a line a policy, cache size from left to right.
public struct MissRatioChart: Sendable {
    private let reports: [SimulationReport]
    private let metric: SimulationReport.Metric

    /// A chart of `metric` over the sizes of each report.
    public init(_ reports: [SimulationReport], metric: SimulationReport.Metric = .misses) {
        self.reports = reports
        self.metric = metric
    }

    /// The drawing, a complete SVG document.
    public var svg: String {
        // One below the other: beside each other they would be shown at half their size, too small to read.
        SVG.document(
            width: MissRatioPanel.width,
            height: Double(max(1, reports.count)) * MissRatioPanel.height,
            title: "cache-sim: \(metric.title)",
            style: Self.style,
            reports.enumerated().map { index, report in
                SVG.group(y: Double(index) * MissRatioPanel.height, MissRatioPanel(report, metric).elements)
            }
        )
    }

    /// A colour a policy. The product stands out, bounds are dashed and as dark as ink.
    private static let style = """
        text{font-size:13px}.title{font-size:15px;font-weight:bold;fill:var(--ink)}
        line{stroke:var(--grid)}line.tick{stroke:var(--dim)}
        polyline{fill:none;stroke:var(--c);stroke-width:1.4;stroke-linejoin:round}
        polyline.memoryCache{stroke-width:3}polyline.bound{stroke-dasharray:5 4}polyline.leader{stroke-width:.7}
        circle,.label{fill:var(--c)}.label.memoryCache{font-weight:bold}
        \(SimulatedPolicy.allCases.map { ".\($0){--c:\(colour($0))}" }.joined())
        @media (prefers-color-scheme:dark){.memoryCache{--c:#4493f8}}
        """

    private static func colour(_ policy: SimulatedPolicy) -> String {
        switch policy {
        case .memoryCache: "#0b62d6"
        case .fifo: "#b0b0b0"
        case .lru: "#7f7f7f"
        case .arc: "#8a5a00"
        case .sieve: "#c98a00"
        case .s3FIFO: "#2a9d4a"
        case .wTinyLFU: "#a03bbd"
        case .gdsf: "#d1495b"
        case .gdsfCost: "#8f1d2c"
        case .foundationNSCache: "#e0752f"
        case .belady, .belSize: "var(--ink)"
        }
    }
}
