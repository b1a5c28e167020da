//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// A rectangle of the chart with seconds across and a quantity up.
struct Panel {
    let left: Double
    let top: Double
    let width: Double
    let height: Double
    /// Seconds at the right edge, and the quantity at the upper one.
    let seconds: Double
    let ceiling: Double

    var bottom: Double { top + height }
    var right: Double { left + width }

    func x(_ time: Double) -> Double { left + min(max(time / seconds, 0), 1) * width }
    func y(_ value: Double) -> Double { bottom - min(max(value / ceiling, 0), 1) * height }

    /// Horizontal lines at `values`, named by `name`.
    func drawGrid(at values: [Double], in drawing: inout Drawing, name: (Double) -> String) {
        for value in values {
            drawing.line(left, y(value), right, y(value), class: value == 0 ? "axis" : "grid")
            drawing.text(name(value), left - 8, y(value) + 5, class: "right small")
        }
    }

    /// Seconds along the lower edge.
    func drawTimes(in drawing: inout Drawing) {
        let step = Self.step(for: seconds, marks: 12)
        for time in stride(from: 0, through: seconds * 1.0001, by: step) {
            drawing.line(x(time), bottom, x(time), bottom + 4, class: "axis")
            drawing.text(time == 0 ? "0 s" : time.short, x(time), bottom + 18, class: "middle small")
        }
    }

    /// The neighbour's stay, as a band.
    func drawStay(_ stay: RunRecord.Stay?, in drawing: inout Drawing) {
        guard let stay else { return }
        drawing.rectangle(x(stay.from), top, x(stay.until) - x(stay.from), height, class: "stay")
    }

    /// The least round step (1, 2, 5 times a power of ten) with which `marks` steps reach `span`.
    static func step(for span: Double, marks: Double) -> Double {
        let power = pow(10, (log10(max(span, 1e-9) / marks)).rounded(.down))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 * marks >= span } ?? power * 10
    }
}
