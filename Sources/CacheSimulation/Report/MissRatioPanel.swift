//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching
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

    var elements: [String] { frame + curves }

    /// How far the foot of a letter is below the middle of its line.
    private static let foot = 4.0

    private var frame: [String] {
        let facts = "\(metric.title); \(report.requests.grouped) requests, \(report.keys.grouped) keys"
        var elements = [SVG.text(report.trace, Self.left, 20, "title"), SVG.text(facts, Self.left, 37, "facts")]
        for value in stride(from: scale.low, through: scale.high + scale.step / 2, by: scale.step) {
            let y = self.y(value)
            elements.append(SVG.line(Self.left, y, Self.right, y, "grid"))
            let share = "\(Quantity.plain(value * 100, decimals: 1))%"
            elements.append(SVG.text(share, Self.left - 6, y + Self.foot, "end"))
        }
        var lastLabel = -Double.infinity
        for column in columns {
            let x = self.x(column.capacity)
            elements.append(SVG.line(x, Self.bottom, x, Self.bottom + 4, "tick"))
            guard x - lastLabel > 44 else { continue }
            lastLabel = x
            elements.append(SVG.text(column.label, x, Self.bottom + 17, "middle"))
        }
        let axis =
            report.isSized ? "cache size (all values: \(Quantity.bytes(report.footprint)))" : "cache size, entries"
        return elements + [SVG.text(axis, (Self.left + Self.right) / 2, Self.bottom + 38, "middle")]
    }

    private var curves: [String] {
        var elements: [String] = []
        var labels: [(y: Double, policy: SimulatedPolicy)] = []
        // The product last, so that it lies on top.
        for policy in report.policies.sorted(by: { $1 == .memoryCache && $0 != .memoryCache }) {
            let points = columns.compactMap { column in
                report.result(policy, capacity: column.capacity).map {
                    (x: x(column.capacity), y: y(metric.value(of: $0)))
                }
            }
            guard let last = points.last else { continue }
            elements.append(SVG.polyline(points, policy.isOffline ? "\(policy) bound" : "\(policy)"))
            if points.count == 1 { elements.append(SVG.circle(last.x, last.y, radius: 3, "\(policy)")) }
            labels.append((last.y, policy))
        }
        for label in Self.apart(labels, lineHeight: Self.lineHeight, from: Self.top, to: Self.bottom) {
            let ends = [(x: Self.right + 2, y: label.y), (x: Self.right + 12, y: label.place)]
            elements.append(SVG.polyline(ends, "\(label.policy) leader"))
            let name = label.policy.rawValue
            elements.append(SVG.text(name, Self.right + 15, label.place + Self.foot, "label \(label.policy)"))
        }
        return elements
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
}
