//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What the live view shows at one moment. Pure: a record in, lines out.
struct LiveFrame {
    let record: RunRecord
    let limitBytes: Int
    let neighbourBytes: Int
    let seconds: Double
    /// Which run of how many.
    let place: (number: Int, of: Int)
    let columns: Int

    private static let label = 12

    var lines: [StyledLine] {
        [heading, StyledLine()] + memory + [hits, cached, pressure, departures, requests]
    }

    private var sample: Sample { record.last }

    private func line(_ name: String) -> StyledLine { StyledLine("  \(name)", .dim).padded(to: Self.label) }

    private var heading: StyledLine {
        var line = StyledLine("▶ ", .cyan).adding(record.contender.title, .bold)
        line.add(record.contender.isOurs ? "   ours" : "   control", record.contender.isOurs ? .green : .yellow)
        let right = "run \(place.number) of \(place.of) · \(sample.time.tenths) of \(seconds.short) s"
        return line.padded(to: columns - right.count - 1).adding(right, .dim)
    }

    /// A bar of all the memory there is, and what its parts mean.
    private var memory: [StyledLine] {
        let used = sample.groupBytes ?? sample.residentBytes
        let neighbour = record.isNeighbourIn ? min(neighbourBytes, used) : 0
        let purgeable = min(sample.purgeableBytes, used - neighbour)
        let parts: [(bytes: Int, style: StyledLine.Style, glyph: Character, name: String)] = [
            (used - neighbour - purgeable, .blue, "█", "kept"),
            (purgeable, .green, "█", "purgeable"),
            (neighbour, .magenta, "█", "neighbour"),
        ]
        let width = max(10, min(60, columns - Self.label - 22))
        var bar = line("memory").adding("▕", .dim)
        var filled = 0
        var bytes = 0
        for part in parts {
            bytes += part.bytes
            let end = min(width, (bytes * width + limitBytes / 2) / max(1, limitBytes))
            bar.add(String(repeating: part.glyph, count: max(0, end - filled)), part.style)
            filled = max(filled, end)
        }
        bar.add(String(repeating: "·", count: width - filled), .dim)
        bar.add("▏", .dim)
        let isFull = used * 16 >= limitBytes * 15
        bar.add(" \(ByteCount(used))", isFull ? .yellow : .plain)
        bar.add(sample.groupBytes == nil ? " resident" : " of \(ByteCount(limitBytes))", .dim)
        var legend = StyledLine().padded(to: Self.label + 1)
        for part in parts where part.bytes > 0 {
            legend.add("■ ", part.style)
            legend.add("\(part.name) \(ByteCount(part.bytes))   ", .dim)
        }
        return [bar, legend]
    }

    private var hits: StyledLine {
        line("hits").adding(record.recentHitRate?.percent ?? "–", .bold).adding(" now", .dim)
            .adding("   \(sample.hitRate.percent)").adding(" in all   ", .dim).adding(sparkline, .cyan)
    }

    /// The hit rate at every half second so far, the newest last.
    private var sparkline: String {
        let room = max(0, min(40, columns - Self.label - 34))
        let all = record.hitRates(window: 0.5)
        let rates = stride(from: max(0, all.count - 1) % 5, to: all.count, by: 5).map { all[$0] }.suffix(room)
        let glyphs = Array("▁▂▃▄▅▆▇█")
        return String(rates.map { glyphs[min(glyphs.count - 1, Int($0.rate * Double(glyphs.count)))] })
    }

    private var cached: StyledLine {
        line("cached").adding("\(ByteCount(sample.cachedBytes))", .bold)
            .adding(" in \(sample.entries.grouped) entries", .dim)
            .adding("   purgeable ", .dim).adding("\(ByteCount(sample.purgeableBytes))")
            .adding("   resident ", .dim).adding("\(ByteCount(sample.residentBytes))")
    }

    private var pressure: StyledLine {
        let style: StyledLine.Style =
            switch sample.level {
            case "critical": .alarm
            case "warning": .yellow
            default: .green
            }
        let line = line("pressure").adding("● \(sample.level)", style)
        return record.isNeighbourIn
            ? line.adding("   the neighbour takes \(ByteCount(neighbourBytes))", .magenta) : line
    }

    private var departures: StyledLine {
        var line = line("evicted")
        if sample.evictions.isEmpty { return line.adding("nothing, ever", .dim) }
        for cause in ["limit", "expired", "pressure", "discarded"] {
            let count = sample.evictions[cause] ?? 0
            line.add(count.grouped, count > 0 ? .bold : .dim)
            line.add(" \(cause)   ", .dim)
        }
        return line
    }

    private var requests: StyledLine {
        line("requests").adding(sample.requests.grouped, .bold)
            .adding("   hit ", .dim).adding(sample.hitNanoseconds.asTime)
            .adding("   download ", .dim).adding(sample.downloadNanoseconds.asTime)
            .adding("   wrong bytes in ", .dim).adding("\(sample.wrong)", sample.wrong > 0 ? .alarm : .green)
    }
}

extension RunRecord {
    /// The share of hits over the `window` seconds before each sample, or over all before it while there are fewer.
    func hitRates(window: Double) -> [(time: Double, rate: Double)] {
        var earlier = 0
        return samples.indices.compactMap { index in
            let begin = samples[index].time - window
            while earlier < index, samples[earlier + 1].time <= begin { earlier += 1 }
            let before = samples[earlier].time <= begin ? samples[earlier] : Sample()
            // The first tenths rest on a few requests.
            guard samples[index].time >= window / 4, let rate = samples[index].hitRate(since: before) else {
                return nil
            }
            return (samples[index].time, rate)
        }
    }
}

extension Int {
    /// Nanoseconds as a time with two digits or more: `850 ns`, `21 µs`, `9.8 ms`; "–" for none.
    var asTime: String {
        switch self {
        case ..<1: "–"
        case ..<1_000: "\(self) ns"
        case ..<1_000_000: (Double(self) / 1e3).twoDigits + " µs"
        default: (Double(self) / 1e6).twoDigits + " ms"
        }
    }
}

extension Double {
    /// One digit after the point below ten, none above.
    fileprivate var twoDigits: String { self < 9.95 ? tenths : String(Int(rounded())) }
}
