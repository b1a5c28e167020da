//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// The demo as an SVG drawing: memory of every run over its time, all runs from the same zero.
struct Chart {
    private let records: [RunRecord]
    private let limitBytes: Int
    private let conclusion: String
    private let seconds: Double
    private let ceiling: Double

    private static let (width, height) = (960.0, 470.0)
    private static let (left, right, top, bottom) = (80.0, 936.0, 116.0, 396.0)

    init(_ records: [RunRecord], limitBytes: Int, conclusion: String) {
        self.records = records
        self.limitBytes = limitBytes
        self.conclusion = conclusion
        seconds = max(records.map(\.last.time).max() ?? 1, 0.1)
        ceiling = 1.12 * Double(max(limitBytes, records.flatMap(\.samples).map(\.usedBytes).max() ?? 0))
    }

    /// The whole document.
    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(Self.height)" \
        width="\(Self.width)" height="\(Self.height)" role="img">
        <title>cache-demo: \(conclusion)</title>
        <style>\(Self.style)</style>
        <rect width="\(Self.width)" height="\(Self.height)" rx="8" class="page"/>
        \(text("Memory of the same requests through each cache, one run after the other", Self.left, 36, "title"))
        \((visits + grid + keys + records.map(curve) + ends).joined(separator: "\n"))
        \(text(conclusion, Self.left, Self.height - 20, "verdict"))
        </svg>

        """
    }

    /// The neighbour's stay and the burst in our runs: they begin and end alike.
    private var visits: [String] {
        guard let last = records.last(where: { $0.neighbour != nil }), let stay = last.neighbour else { return [] }
        let burst = last.samples.filter { $0.burst == .held }.map(\.time)
        let bursts = burst.first.map { [band($0...burst[burst.count - 1], "stay"), mark("burst", $0)] } ?? []
        return [band(stay, "stay"), mark("neighbour", stay.lowerBound)] + bursts
    }

    private func mark(_ words: String, _ time: Double) -> String { text(words, x(time) + 6, Self.bottom - 10, "stay") }

    private func band(_ span: ClosedRange<Double>, _ name: String) -> String {
        let width = x(span.upperBound) - x(span.lowerBound)
        return "<rect x=\"\(x(span.lowerBound).tenths)\" y=\"\(Self.top)\" width=\"\(width.tenths)\" "
            + "height=\"\(Self.bottom - Self.top)\" class=\"\(name)\"/>"
    }

    private var grid: [String] {
        let levels = (0...4).flatMap { quarter in
            let bytes = limitBytes / 4 * quarter
            let height = y(bytes)
            return [
                line(Self.left, height, Self.right, height, quarter == 4 ? "limit" : "grid"),
                text(bytes.inMebibytes, Self.left - 8, height + 5, quarter == 4 ? "over end" : "end"),
            ]
        }
        // Not more than twelve marks.
        let step = [1.0, 2, 5, 10, 30, 60, 300].first { seconds / $0 <= 12.9 } ?? 600
        let times = stride(from: 0, through: seconds, by: step).map {
            text("\(Int($0)) s", x($0), Self.bottom + 20, "middle")
        }
        return levels + times
    }

    private var keys: [String] {
        var place = Self.left
        return records.flatMap { record in
            defer { place += 28 + Double(record.contender.title.count) * 9.2 }
            return [
                line(place, 73, place + 14, 73, "\(record.contender)"),
                text(record.contender.title, place + 18, 78, "name \(record.contender)"),
            ]
        }
    }

    private func curve(_ record: RunRecord) -> String {
        let points = record.samples.map { "\(x($0.time).tenths),\(y($0.usedBytes).tenths)" }
        return "<polyline points=\"\(points.joined(separator: " "))\" class=\"\(record.contender)\"/>"
    }

    /// Crosses where a run was killed, each with the moment beside it; those to the left have their words to the left.
    private var ends: [String] {
        let ended = records.filter { $0.fate != .survived && !$0.samples.isEmpty }
            .sorted { $0.last.time < $1.last.time }
        return ended.enumerated().flatMap { index, record in
            let isLast = index == ended.count - 1
            let (x, y) = (x(record.last.time), y(record.last.usedBytes))
            let words = "\(record.fate == .killed ? "killed" : "ended") after \(record.last.time.tenths) s"
            return [
                "<path d=\"M\((x - 5).tenths) \((y - 5).tenths)l10 10m-10 0l10-10\" "
                    + "class=\"cross \(record.contender)\"/>",
                text(words, x + (isLast ? 8 : -8), y - 8, "name \(record.contender)\(isLast ? "" : " end")"),
            ]
        }
    }

    private func x(_ time: Double) -> Double { Self.left + time / seconds * (Self.right - Self.left) }
    private func y(_ bytes: Int) -> Double { Self.bottom - Double(bytes) / ceiling * (Self.bottom - Self.top) }

    private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ name: String) -> String {
        "<line x1=\"\(x1.tenths)\" y1=\"\(y1.tenths)\" x2=\"\(x2.tenths)\" y2=\"\(y2.tenths)\" class=\"\(name)\"/>"
    }

    private func text(_ words: String, _ x: Double, _ y: Double, _ name: String) -> String {
        "<text x=\"\(x.tenths)\" y=\"\(y.tenths)\" class=\"\(name)\">\(words)</text>"
    }

    /// Light, and dark where the reader's system is. Blue, violet and green are ours; the controls are dotted in orange
    /// and red. Letters are large enough for a README, which shows the chart at some 830 of its 960 pixels.
    private static let style = """

        svg{--page:#fff;--ink:#1f2328;--dim:#59636e;--grid:#d1d9e0;--stay:#9a6700}
        svg{--b:#0969da;--v:#8250df;--g:#1a7f37;--o:#bc4c00;--r:#cf222e}
        @media (prefers-color-scheme:dark){svg{--page:#0d1117;--ink:#f0f6fc;--dim:#9198a1;--grid:#262c36;--stay:#d29922;
        --b:#4493f8;--v:#ab7df8;--g:#3fb950;--o:#f0883e;--r:#ff7b72}}
        text{font:15px system-ui,-apple-system,"Segoe UI","Helvetica Neue","DejaVu Sans",sans-serif;fill:var(--dim)}
        .page{fill:var(--page)}.grid{stroke:var(--grid)}.limit{stroke:var(--r);stroke-dasharray:6 4}
        .title{font-size:20px}.title,.verdict,.name{font-weight:600;fill:var(--ink)}
        .end{text-anchor:end}.middle{text-anchor:middle}
        rect.stay{fill:var(--stay);opacity:.12}text.stay{fill:var(--stay);font-weight:600}
        polyline,path,line{fill:none;stroke-width:2.5;stroke:var(--c);stroke-linejoin:round}.grid,.limit{stroke-width:1}
        .name{fill:var(--c);font-size:14px}text.over{fill:var(--r)}
        .memoryCache{--c:var(--b)}.purgeableCache{--c:var(--v)}.appleClasses{--c:var(--g)}
        .dictionary{--c:var(--o)}.foundationCache{--c:var(--r)}
        polyline.dictionary,polyline.foundationCache{stroke-dasharray:2 3}

        """
}
