//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One panel of a ``MissRatioChart``.
struct MissRatioPanel {
    static let width = 720.0, height = 420.0
    private static let left = 58.0, right = 560.0, top = 48.0, bottom = 362.0
    private static let lineHeight = 14.0

    private let report: SimulationReport
    private let metric: SimulationReport.Metric
    private let columns: [(capacity: Int, label: String)]
    private let scale: (low: Double, high: Double, step: Double)

    init(_ report: SimulationReport, _ metric: SimulationReport.Metric) {
        self.report = report
        self.metric = metric
        columns = zip(report.capacities, report.sizes).map { ($0, $1.description) }.sorted { $0.0 < $1.0 }
        let values = report.policies.flatMap { policy in
            report.capacities.compactMap { report.result(policy, capacity: $0).map(metric.value(of:)) }
        }
        scale = Self.niceScale(values.min() ?? 0, values.max() ?? 1)
    }

    var elements: String {
        frame + curves
    }

    private var frame: String {
        var text =
            "<text x=\"\(Self.left)\" y=\"20\" font-size=\"15\" font-weight=\"bold\">\(Self.escaped(report.trace))"
        text += "</text>\n<text x=\"\(Self.left)\" y=\"37\" fill=\"#666\">\(metric.title); "
        text += "\(Quantity.grouped(report.requests)) requests, \(Quantity.grouped(report.keys)) keys</text>\n"
        var value = scale.low
        while value <= scale.high + scale.step / 2 {
            let y = Quantity.plain(self.y(value))
            text += "<line x1=\"\(Self.left)\" x2=\"\(Self.right)\" y1=\"\(y)\" y2=\"\(y)\" stroke=\"#e4e4e4\"/>\n"
            text += "<text x=\"\(Self.left - 6)\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\" fill=\"#444\">"
            text += "\(Quantity.plain(value * 100, decimals: 1))%</text>\n"
            value += scale.step
        }
        var lastLabel = -Double.infinity
        for column in columns {
            let x = self.x(column.capacity), text2 = Quantity.plain(x, decimals: 1)
            text +=
                "<line x1=\"\(text2)\" x2=\"\(text2)\" y1=\"\(Self.bottom)\" y2=\"\(Self.bottom + 4)\" stroke=\"#888\"/>\n"
            guard x - lastLabel > 44 else { continue }
            lastLabel = x
            text += "<text x=\"\(text2)\" y=\"\(Self.bottom + 17)\" text-anchor=\"middle\" fill=\"#444\">"
            text += "\(Self.escaped(column.label))</text>\n"
        }
        let axis =
            report.isSized ? "cache size (all values: \(Quantity.bytes(report.footprint)))" : "cache size, entries"
        text += "<text x=\"\((Self.left + Self.right) / 2)\" y=\"\(Self.bottom + 38)\" text-anchor=\"middle\" "
        return text + "fill=\"#444\">\(axis)</text>\n"
    }

    private var curves: String {
        var text = ""
        var labels: [(y: Double, policy: SimulatedPolicy)] = []
        // The product last, so that it lies on top.
        for policy in report.policies.sorted(by: { $1 == .memoryCache && $0 != .memoryCache }) {
            let points = columns.compactMap { column in
                report.result(policy, capacity: column.capacity).map {
                    (x: x(column.capacity), y: y(metric.value(of: $0)))
                }
            }
            guard let last = points.last else { continue }
            let path = points.map { "\(Quantity.plain($0.x, decimals: 1)),\(Quantity.plain($0.y, decimals: 1))" }
            let style = Style(policy)
            text += "<polyline fill=\"none\" stroke=\"\(style.color)\" stroke-width=\"\(style.width)\" "
            text += "stroke-linejoin=\"round\"\(style.dashes) points=\"\(path.joined(separator: " "))\"/>\n"
            if points.count == 1 {
                text += "<circle cx=\"\(last.x)\" cy=\"\(last.y)\" r=\"3\" fill=\"\(style.color)\"/>\n"
            }
            labels.append((last.y, policy))
        }
        for label in Self.apart(labels, lineHeight: Self.lineHeight, from: Self.top, to: Self.bottom) {
            let style = Style(label.policy)
            let weight = label.policy == .memoryCache ? " font-weight=\"bold\"" : ""
            let y = Quantity.plain(label.place, decimals: 1)
            text += "<polyline fill=\"none\" stroke=\"\(style.color)\" stroke-width=\"0.7\" points=\"\(Self.right + 2),"
            text +=
                "\(Quantity.plain(label.y, decimals: 1)) \(Self.right + 12),\(y)\"/>\n<text x=\"\(Self.right + 15)\" "
            text += "y=\"\(y)\" dy=\"4\" fill=\"\(style.color)\"\(weight)>\(label.policy.rawValue)</text>\n"
        }
        return text
    }

    /// Sizes stand by their logarithm.
    private func x(_ capacity: Int) -> Double {
        guard let low = columns.first?.capacity, let high = columns.last?.capacity, high > low else {
            return (Self.left + Self.right) / 2
        }
        let share = log(Double(capacity) / Double(low)) / log(Double(high) / Double(low))
        return Self.left + share * (Self.right - Self.left)
    }

    private func y(_ value: Double) -> Double {
        Self.bottom - (value - scale.low) / (scale.high - scale.low) * (Self.bottom - Self.top)
    }

    /// From at most `low` to at least `high` in four to ten round steps.
    static func niceScale(_ low: Double, _ high: Double) -> (low: Double, high: Double, step: Double) {
        let span = max(high - low, 0.001)
        var step = 0.001
        for next in [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2] where span / step > 8 { step = next }
        let bottom = max(0, (low / step).rounded(.down) * step)
        return (bottom, max(bottom + step, (high / step).rounded(.up) * step), step)
    }

    /// Labels moved apart so that none lies on another.
    private static func apart(
        _ labels: [(y: Double, policy: SimulatedPolicy)],
        lineHeight: Double,
        from top: Double,
        to bottom: Double
    ) -> [(y: Double, place: Double, policy: SimulatedPolicy)] {
        var placed = labels.sorted { $0.y < $1.y }.map { (y: $0.y, place: $0.y, policy: $0.policy) }
        for index in placed.indices.dropFirst() {
            placed[index].place = max(placed[index].place, placed[index - 1].place + lineHeight)
        }
        var limit = bottom
        for index in placed.indices.reversed() {
            placed[index].place = min(placed[index].place, limit)
            limit = placed[index].place - lineHeight
        }
        return placed
    }

    private static func escaped(_ text: String) -> String {
        text.map { ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"][$0] ?? String($0) }.joined()
    }

    /// How a policy's line looks: the product stands out, bounds are dashed.
    private struct Style {
        let color: String
        let width: Double
        let dashes: String

        init(_ policy: SimulatedPolicy) {
            color =
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
                case .belady, .belSize: "#333333"
                }
            width = policy == .memoryCache ? 3 : 1.4
            dashes = policy.isOffline ? " stroke-dasharray=\"5 4\"" : ""
        }
    }
}
