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
            if shown?.contender != now.contender { emit("\n\(now.contender.title)\n", to: file) }
            defer { shown = now }
            return shown.map { $0 != now } ?? true
        }
        if due { emit("  " + Self.line(record) + "\n", to: file) }
    }

    func end(_ record: RunRecord) { emit("  \(record.mark) \(record.outcome)\n", to: file) }

    func finish(_ verdict: Verdict) {
        emit("\n" + verdict.lines.map { "\($0)\n" }.joined() + "\(verdict.conclusion)\n", to: file)
    }

    func restore() {}

    /// Everything about this moment in one line.
    static func line(_ record: RunRecord) -> String {
        let sample = record.last
        let causes = sample.evictions.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map {
            "\($0.key) \($0.value.grouped)"
        }
        return [
            "\(sample.time.tenths) s",
            "hits \(record.recentHitRate?.percent ?? "–") now, \(sample.hitRate.percent) in all",
            "cached \(ByteCount(sample.cachedBytes))",
            sample.purgeableBytes > 0 ? "purgeable \(ByteCount(sample.purgeableBytes))" : nil,
            "resident \(ByteCount(sample.residentBytes))",
            sample.groupBytes.map { "cgroup \(ByteCount($0))" },
            "pressure \(sample.level)",
            causes.isEmpty ? nil : "evicted " + causes.joined(separator: ", "),
            record.isNeighbourIn ? "neighbour in" : nil,
        ].compactMap { $0 }.joined(separator: " · ")
    }
}

extension RunRecord {
    /// Whether the neighbour is there at this moment.
    var isNeighbourIn: Bool { neighbour.map { $0.until >= seconds && !$0.killed } ?? false }
}
