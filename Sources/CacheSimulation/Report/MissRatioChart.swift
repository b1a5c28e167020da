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
        let width = Int(MissRatioPanel.width), height = max(1, reports.count) * Int(MissRatioPanel.height)
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" \
            height="\(height)" font-family="Helvetica, Arial, sans-serif" font-size="13">
            \(Self.darkStyle)
            <rect class="page" width="100%" height="100%" fill="#ffffff"/>

            """
        for (index, report) in reports.enumerated() {
            let y = index * Int(MissRatioPanel.height)
            text += "<g transform=\"translate(0 \(y))\">\n\(MissRatioPanel(report, metric).elements)</g>\n"
        }
        return text + "</svg>\n"
    }

    /// Where the reader prefers dark pages; a style sheet outweighs the attributes of the elements.
    private static let darkStyle = """
        <style>@media (prefers-color-scheme:dark){.page{fill:#0d1117}line{stroke:#30363d}
        text:not([fill]),[fill="#333333"]{fill:#e6edf3}[fill="#444"],[fill="#666"]{fill:#9198a1}
        [stroke="#333333"]{stroke:#e6edf3}[stroke="#0b62d6"]{stroke:#4493f8}[fill="#0b62d6"]{fill:#4493f8}}</style>
        """
}
