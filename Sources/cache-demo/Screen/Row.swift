//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// One moment of a run in 79 columns: hit rate of the last second, bytes held, entries evicted so far, and a bar of the
/// memory that is taken. Pure: a record in, a line out.
struct Row {
    /// The bar's columns.
    static let width = 24

    private let record: RunRecord
    private let limitBytes: Int
    private let neighbourBytes: Int

    init(_ record: RunRecord, limitBytes: Int, neighbourBytes: Int) {
        self.record = record
        self.limitBytes = limitBytes
        self.neighbourBytes = neighbourBytes
    }

    static let heading = Line("time".right(8) + "hits".right(9) + "held".right(9) + "evicted".right(8), .dim)
        .adding("  memory", .dim)

    var line: Line {
        let sample = record.last
        let figures = [
            "\(sample.time.tenths) s".right(8), (record.recentHitRate?.percent ?? "–").right(9),
            sample.cachedBytes.inMebibytes.right(9), sample.evictions.grouped.right(8),
        ]
        var line = Line(figures.joined() + "  ")
        var (bytes, filled) = (0, 0)
        for part in parts {
            bytes += part.bytes
            let end = min(Self.width, (bytes * Self.width + limitBytes / 2) / limitBytes)
            line = line.adding(String(repeating: part.glyph, count: max(0, end - filled)), part.style)
            filled = max(filled, end)
        }
        line = line.adding(String(repeating: "·", count: Self.width - filled), .dim)
        return line.adding(notes.isEmpty ? "" : " \(notes)", .yellow)
    }

    /// The memory that is taken, in parts.
    private var parts: [(bytes: Int, glyph: String, style: Line.Style)] {
        let used = record.last.usedBytes
        // The neighbour's memory is charged to the run's cgroup; where there is none, the bar is the run's alone.
        let neighbour = record.isNeighbourIn && record.limitBytes != nil ? min(neighbourBytes, used) : 0
        let purgeable = min(record.last.purgeableBytes, used - neighbour)
        return [
            (used - neighbour - purgeable, "█", .blue), (purgeable, "▒", .green), (neighbour, "░", .magenta),
        ]
    }

    /// What happens at this moment.
    var notes: String {
        var notes = record.isNeighbourIn ? ["neighbour"] : []
        if record.last.level != "normal" { notes.append(record.last.level) }
        return notes.joined(separator: ", ")
    }
}
