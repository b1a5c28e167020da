//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation

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
        let heading = "Memory of the same requests through each cache, one run after the other"
        return SVG.document(
            width: Self.width,
            height: Self.height,
            title: "cache-demo: \(conclusion)",
            style: Self.style,
            [SVG.text(heading, Self.left, 36, "title")] + visits + grid + keys + records.map(curve) + ends
                + [SVG.text(conclusion, Self.left, Self.height - 20, "verdict")]
        )
    }

    /// The neighbour's stay and the burst in our runs: they begin and end alike.
    private var visits: [String] {
        guard let last = records.last(where: { $0.neighbour != nil }), let stay = last.neighbour else { return [] }
        let burst = last.samples.filter { $0.burst == .held }.map(\.time)
        let bursts = burst.first.map { [band($0...burst[burst.count - 1], "stay"), mark("burst", $0)] } ?? []
        return [band(stay, "stay"), mark("neighbour", stay.lowerBound)] + bursts
    }

    private func mark(_ words: String, _ time: Double) -> String {
        SVG.text(words, x(time) + 6, Self.bottom - 10, "stay")
    }

    private func band(_ span: ClosedRange<Double>, _ name: String) -> String {
        let width = x(span.upperBound) - x(span.lowerBound)
        return SVG.rect(x(span.lowerBound), Self.top, width: width, height: Self.bottom - Self.top, name)
    }

    private var grid: [String] {
        let levels = (0...4).flatMap { quarter in
            let bytes = limitBytes / 4 * quarter
            let height = y(bytes)
            return [
                SVG.line(Self.left, height, Self.right, height, quarter == 4 ? "limit" : "grid"),
                SVG.text(bytes.inMebibytes, Self.left - 8, height + 5, quarter == 4 ? "over end" : "end"),
            ]
        }
        // Not more than twelve marks.
        let step = [1.0, 2, 5, 10, 30, 60, 300].first { seconds / $0 <= 12.9 } ?? 600
        let times = stride(from: 0, through: seconds, by: step).map {
            SVG.text("\(Int($0)) s", x($0), Self.bottom + 20, "middle")
        }
        return levels + times
    }

    private var keys: [String] {
        var place = Self.left
        return records.flatMap { record in
            defer { place += 28 + Double(record.contender.title.count) * 9.2 }
            return [
                SVG.line(place, 73, place + 14, 73, "\(record.contender)"),
                SVG.text(record.contender.title, place + 18, 78, "name \(record.contender)"),
            ]
        }
    }

    private func curve(_ record: RunRecord) -> String {
        SVG.polyline(record.samples.map { (x($0.time), y($0.usedBytes)) }, "\(record.contender)")
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
                SVG.line(x - 5, y - 5, x + 5, y + 5, "cross \(record.contender)"),
                SVG.line(x - 5, y + 5, x + 5, y - 5, "cross \(record.contender)"),
                SVG.text(words, x + (isLast ? 8 : -8), y - 8, "name \(record.contender)\(isLast ? "" : " end")"),
            ]
        }
    }

    private func x(_ time: Double) -> Double { Self.left + time / seconds * (Self.right - Self.left) }
    private func y(_ bytes: Int) -> Double { Self.bottom - Double(bytes) / ceiling * (Self.bottom - Self.top) }

    /// Blue, violet and green are ours; the controls are dotted in orange and red. Letters are large enough for a
    /// README, which shows the chart at some 830 of its 960 pixels.
    private static let style = """
        svg{--stay:#9a6700;--b:#0969da;--v:#8250df;--g:#1a7f37;--o:#bc4c00;--r:#cf222e}
        @media (prefers-color-scheme:dark){svg{--stay:#d29922;--b:#4493f8;--v:#ab7df8;--g:#3fb950;--o:#f0883e;
        --r:#ff7b72}}
        text{font-size:15px}.title{font-size:20px}.title,.verdict,.name{font-weight:600;fill:var(--ink)}
        rect.stay{fill:var(--stay);opacity:.12}text.stay{fill:var(--stay);font-weight:600}
        polyline,line{fill:none;stroke-width:2.5;stroke:var(--c);stroke-linejoin:round}
        .grid{--c:var(--grid)}.limit{--c:var(--r);stroke-dasharray:6 4}line.grid,line.limit{stroke-width:1}
        .name{fill:var(--c);font-size:14px}text.over{fill:var(--r)}
        .memoryCache{--c:var(--b)}.purgeableCache{--c:var(--v)}.appleClasses{--c:var(--g)}
        .dictionary{--c:var(--o)}.foundationCache{--c:var(--r)}
        polyline.dictionary,polyline.foundationCache{stroke-dasharray:2 3}
        """
}
