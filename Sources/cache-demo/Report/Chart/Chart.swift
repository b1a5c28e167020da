//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The demo as a picture: memory, pressure and hit rate of every run over its time, all runs from the same zero.
struct Chart {
    private let records: [RunRecord]
    private let setting: Setting
    private let seconds: Double
    /// The stay of the neighbour in our runs: they begin and end alike.
    private let stay: RunRecord.Stay?

    private static let width = 960.0
    private static let left = 80.0
    private static let right = 24.0

    init(_ records: [RunRecord], setting: Setting) {
        self.records = records
        self.setting = setting
        seconds = max(records.map(\.seconds).max() ?? 1, 0.1)
        stay = records.last { $0.contender.isOurs && $0.neighbour != nil }?.neighbour
    }

    /// The whole SVG document.
    func svg(_ verdict: Verdict) -> String {
        // Pressure is drawn where any was heard of: while purgeable pages give way there often is none.
        let ours = records.filter(\.contender.isOurs)
        let strips = ours.contains { $0.levels.contains { $0.level != "normal" } } ? Double(ours.count) : 0
        let hitsTop = 454 + (strips > 0 ? 44 + strips * 20 : 0)
        let height = hitsTop + 224
        var drawing = Drawing(width: Self.width, height: height)
        drawing.rectangle(0, 0, Self.width, height, class: "page", radius: 8)
        drawHeading(in: &drawing)
        drawMemory(panel(top: 164, height: 230, ceiling: memoryCeiling), in: &drawing)
        if strips > 0 { drawPressure(top: 432, in: &drawing) }
        drawHitRates(panel(top: hitsTop, height: 140, ceiling: 1), in: &drawing)
        drawing.text(verdict.conclusion, Self.left, height - 24, class: "verdict")
        return drawing.document(style: ChartStyle.sheet, title: "cache-demo: \(verdict.conclusion)")
    }

    private func panel(top: Double, height: Double, ceiling: Double) -> Panel {
        let width = Self.width - Self.left - Self.right
        return Panel(left: Self.left, top: top, width: width, height: height, seconds: seconds, ceiling: ceiling)
    }

    private func drawHeading(in drawing: inout Drawing) {
        let place =
            setting.controlGroup == nil
            ? "with memory pressure signalled by hand" : "in \(ByteCount(setting.limitBytes)) of memory"
        drawing.text(
            "The same requests through \(records.count == 5 ? "five" : "\(records.count)") caches, \(place)",
            Self.left,
            36,
            class: "title"
        )
        drawing.text(
            "\(setting.stream), \(ByteCount(setting.distinctBytes)) together, "
                + "over HTTP with a latency of \(setting.latencyMilliseconds.short) ms",
            Self.left,
            58,
            class: ""
        )
        // As many names in a row as fit.
        var (x, y) = (Self.left, 88.0)
        for record in records {
            let name = record.contender.rawValue
            let width = 28 + Double(record.contender.title.count) * 10 + 26
            if x + width > Self.width { (x, y) = (Self.left, y + 24) }
            drawing.line(x, y - 5, x + 22, y - 5, class: "key \(name)\(record.contender.isOurs ? "" : " control")")
            drawing.text(record.contender.title, x + 28, y, class: "name \(name)")
            x += width
        }
    }

    private var memoryCeiling: Double {
        let most = records.flatMap(\.samples).map(Self.memory).max() ?? 1
        return max(Double(most), setting.controlGroup == nil ? 1 : Double(setting.limitBytes)) * 1.1
    }

    private static func memory(_ sample: Sample) -> Int { sample.groupBytes ?? sample.residentBytes }

    private func drawMemory(_ panel: Panel, in drawing: inout Drawing) {
        let what = setting.controlGroup == nil ? "resident memory of each run" : "memory charged to each run’s cgroup"
        drawing.heading("Memory", "\(what); filled: what the kernel may take back", panel.left, panel.top - 14)
        panel.drawStay(stay, in: &drawing)
        let step = Panel.step(for: panel.ceiling / Double(1 << 20), marks: 5) * Double(1 << 20)
        panel.drawGrid(at: Array(stride(from: 0, through: panel.ceiling, by: step)), in: &drawing) {
            $0 == 0 ? "0" : "\(ByteCount(Int($0)))"
        }
        if let stay {
            let middle = (panel.x(stay.from) + panel.x(stay.until)) / 2
            let words = "neighbour takes \(ByteCount(setting.neighbourBytes))"
            drawing.text(words, middle, panel.bottom - 10, class: "stayText small middle")
        }
        if setting.controlGroup != nil {
            let y = panel.y(Double(setting.limitBytes))
            drawing.line(panel.left, y, panel.right, y, class: "limit")
            drawing.text("limit \(ByteCount(setting.limitBytes))", panel.right, y - 6, class: "limitText small right")
        }
        for record in records where record.contender.isOurs {
            let points = record.samples.map {
                (panel.x($0.time), panel.y(Double(min($0.purgeableBytes, Self.memory($0)))))
            }
            drawing.area(points, base: panel.bottom, class: "fill \(record.contender.rawValue)")
        }
        for record in records {
            let points = record.samples.map { (panel.x($0.time), panel.y(Double(Self.memory($0)))) }
            drawing.curve(
                points,
                class: "curve \(record.contender.rawValue)\(record.contender.isOurs ? "" : " control")"
            )
        }
        drawEnds(panel, in: &drawing)
    }

    /// Crosses where a run was killed, each with the moment above it; those to the left have their words to the left.
    private func drawEnds(_ panel: Panel, in drawing: inout Drawing) {
        let ended = records.filter { $0.fate != .survived && !$0.samples.isEmpty }.sorted { $0.seconds < $1.seconds }
        for (index, record) in ended.enumerated() {
            let (x, y) = (panel.x(record.seconds), panel.y(Double(Self.memory(record.last))))
            drawing.cross(x, y, class: record.contender.rawValue)
            let words = "\(record.fate == .killed ? "killed" : "ended") after \(record.seconds.tenths) s"
            let isLast = index == ended.count - 1
            drawing.text(
                words,
                x + (isLast ? 2 : -2),
                y - 14,
                class: "name small \(record.contender.rawValue)\(isLast ? "" : " right")"
            )
        }
    }

    private func drawPressure(top: Double, in drawing: inout Drawing) {
        let ours = records.filter(\.contender.isOurs)
        drawing.heading("Pressure", "as our runs heard of it", Self.left, top)
        var x = Self.width - Self.right
        for level in ["critical", "warning", "normal"] {
            drawing.text(level, x, top, class: "small right")
            x -= Double(level.count) * 8 + 16
            drawing.rectangle(x, top - 10, 10, 10, class: level, radius: 2)
            x -= 16
        }
        for (index, record) in ours.enumerated() {
            let strip = panel(top: top + 12 + Double(index) * 20, height: 14, ceiling: 1)
            for (from, until, level) in record.levels {
                drawing.rectangle(strip.x(from), strip.top, strip.x(until) - strip.x(from), strip.height, class: level)
            }
            drawing.line(
                strip.left - 30,
                strip.top + 7,
                strip.left - 8,
                strip.top + 7,
                class: "key \(record.contender.rawValue)"
            )
        }
    }

    private func drawHitRates(_ panel: Panel, in drawing: inout Drawing) {
        drawing.heading("Hit rate", "over a second each", panel.left, panel.top - 14)
        panel.drawStay(stay, in: &drawing)
        panel.drawGrid(at: [0, 0.25, 0.5, 0.75, 1], in: &drawing) { "\(Int($0 * 100)) %" }
        panel.drawTimes(in: &drawing)
        for record in records {
            let points = record.hitRates(window: 1).map { (panel.x($0.time), panel.y($0.rate)) }
            drawing.curve(
                points,
                class: "curve \(record.contender.rawValue)\(record.contender.isOurs ? "" : " control")"
            )
            if record.fate != .survived, let end = points.last {
                drawing.cross(end.0, end.1, class: record.contender.rawValue)
            }
        }
    }
}

extension RunRecord {
    /// Spans of equal pressure, one after the other.
    var levels: [(from: Double, until: Double, level: String)] {
        var spans: [(from: Double, until: Double, level: String)] = []
        for sample in samples {
            if let last = spans.last, last.level == sample.level {
                spans[spans.count - 1].until = sample.time
            } else {
                if !spans.isEmpty { spans[spans.count - 1].until = sample.time }
                spans.append((sample.time, sample.time, sample.level))
            }
        }
        return spans
    }
}
