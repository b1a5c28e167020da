//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Synchronization

/// One line a second, without colour: for files, pipes and continuous integration.
final class PlainDisplay: Display {
    private let file: CInt
    /// The run and the second that the last line was about.
    private let shown = Mutex<(contender: Contender, second: Int)?>(nil)

    init(file: CInt) { self.file = file }

    func begin(_ setting: Setting) {
        emit("cache-demo\n" + setting.introduction.map { "  \($0)\n" }.joined(), to: file)
    }

    func show(_ record: RunRecord) {
        let due = shown.withLock { shown in
            let now = (contender: record.contender, second: Int(record.seconds))
            if shown?.contender != now.contender { emit("\n\(now.contender.title)\n\(Self.heading)\n", to: file) }
            defer { shown = now }
            return shown.map { $0 != now } ?? true
        }
        if due { emit(Self.line(record) + "\n", to: file) }
    }

    func end(_ record: RunRecord) { emit("  \(record.mark) \(record.outcome)\n", to: file) }

    func finish(_ verdict: Verdict) {
        emit("\n" + verdict.lines.map { "\($0)\n" }.joined() + "\(verdict.conclusion)\n", to: file)
    }

    func restore() {}

    /// What the columns of ``line(_:)`` are.
    static let heading = row(["time", "hits", "cached", "used", "evicted"])

    /// This moment in a row: the hit rate of the last second, bytes cached and bytes charged, entries evicted so far.
    static func line(_ record: RunRecord) -> String {
        let sample = record.last
        let evicted = sample.evictions.values.reduce(0, +)
        let state = [record.isNeighbourIn ? "neighbour" : nil, sample.level == "normal" ? nil : sample.level]
        return row([
            "\(sample.time.tenths) s",
            record.recentHitRate?.percent ?? "–",
            "\(ByteCount(sample.cachedBytes))",
            "\(ByteCount(sample.groupBytes ?? sample.residentBytes))",
            evicted.grouped,
        ]) + state.compactMap { $0 }.map { "   \($0)" }.joined()
    }

    private static func row(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(1, 10 - $0.count)) + $0 }.joined()
    }
}

extension RunRecord {
    /// Whether the neighbour is there at this moment.
    var isNeighbourIn: Bool { neighbour.map { $0.until >= seconds && !$0.killed } ?? false }
}
