//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// One moment of a run in 79 columns: hit rate of the last second, bytes held, entries evicted so far, and a bar of the
/// memory that is taken. Pure: a record in, a line out.
struct Row {
    /// The bar's columns.
    static let width = 24

    let record: RunRecord
    let limitBytes: Int

    static let heading = Line("time".right(8) + "hits now".right(9) + "held".right(10) + "evicted".right(8), .dim)
        .adding("  memory", .dim)

    var line: Line {
        let sample = record.last
        let figures = [
            "\(sample.time.tenths) s".right(8), (record.recentHitRate?.percent ?? "–").right(9),
            sample.cachedBytes.inMebibytes.right(10), sample.evictions.grouped.right(8),
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
        // What is charged to the run's cgroup and not its own: a neighbour's, but for some MiB of the kernel's. Where
        // there is no cgroup, the bar is the run's alone.
        let neighbour = record.neighbour != nil ? max(0, used - record.last.residentBytes) : 0
        let burst = record.last.burst == .held ? min(limitBytes / 4, used - neighbour) : 0
        let purgeable = min(record.last.purgeableBytes, used - neighbour - burst)
        return [
            (used - neighbour - burst - purgeable, "█", .blue), (purgeable, "▒", .green), (burst, "▓", .yellow),
            (neighbour, "░", .magenta),
        ]
    }

    /// What happens at this moment.
    var notes: String {
        let level = record.last.level
        var notes = level != "normal" ? [level] : record.isNeighbourIn ? ["neighbour"] : []
        switch record.last.burst {
        case .coming: notes.append("burst…")
        case .held: notes.append("burst")
        case .ahead, .over, .refused: break
        }
        return notes.joined(separator: ", ")
    }
}
