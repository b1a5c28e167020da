//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What the demo has shown: a table of the runs, and what follows from it.
struct Verdict: Sendable {
    /// A heading, and a row for each run.
    let lines: [Line]
    let conclusion: String
    /// Our runs survived, and no byte was wrong.
    let success: Bool

    init(_ records: [RunRecord], limitBytes: Int) {
        lines = [Self.heading] + records.flatMap(\.summary)
        let ours = records.filter(\.contender.isOurs)
        success = !ours.isEmpty && ours.allSatisfy(\.keptItsPromise)
        let isLimited = records.allSatisfy { $0.limitBytes != nil }
        let held = isLimited ? " in \(limitBytes.inMebibytes)" : ""
        let idle = ours.filter { !$0.memoryWasShort }.count
        conclusion =
            if !success {
                "Not as promised: not all of our runs survived\(held), every byte right."
            } else if idle > 0 {
                "\(idle == ours.count ? "Our runs prove" : "\(idle) of our \(ours.count) runs prove") nothing: "
                    + "memory was never short. Give more --seconds."
            } else {
                "Our caches survived\(held), every byte right\(Self.fate(of: records, isLimited))."
            }
    }

    private static func fate(of records: [RunRecord], _ isLimited: Bool) -> String {
        let controls = records.filter { !$0.contender.isOurs }
        let killed = controls.filter { $0.fate == .killed }.count
        return switch killed {
        case _ where controls.isEmpty: ""
        case 0: isLimited ? "; the controls were not killed" : "; nothing limits the controls"
        case controls.count: "; both controls were killed"
        default: "; one control was killed"
        }
    }

    private static let heading = Line(" ".padded(to: 27) + "".padded(to: 11), .plain)
        .adding("after".right(8) + "burst".right(6) + "hits".right(8) + "held".right(11) + "a hit".right(8), .dim)
}

extension RunRecord {
    /// One row: how it ended, after how long, whether it lived through its burst, hits among all requests, bytes held,
    /// the median time of a hit. Rows for what went wrong follow.
    var summary: [Line] {
        let word =
            switch fate {
            case .survived: memoryWasShort ? "survived" : "not filled"
            case .killed: "killed"
            case .failed: "failed"
            }
        let mark = fate == .survived && last.wrong == 0 ? memoryWasShort ? "✓" : "–" : "✗"
        let style: Line.Style = keptItsPromise ? .green : .red
        let burst = last.burst == .over ? "lived" : diedOfBurst ? "died" : "–"
        let figures = [
            "\(last.time.tenths) s".right(8), burst.right(6), (last.hitRate()?.percent ?? "–").right(8),
            last.cachedBytes.inMebibytes.right(11), last.hitNanoseconds.asTime.right(8),
        ]
        let row = Line("\(mark) ", style).adding(contender.title.padded(to: 25), .bold)
            .adding(word.padded(to: 11), style).adding(figures.joined())
        var trouble: [String] = []
        if case .failed(let words) = fate { trouble.append(words + (self.words.isEmpty ? "" : " (“\(self.words)”)")) }
        if last.burst == .refused { trouble.append("no room for the burst that it announced") }
        if last.wrong > 0 { trouble.append("\(last.wrong) wrong values") }
        if last.failures > 0 { trouble.append("\(last.failures) failed requests") }
        return [row] + trouble.map { Line("  \($0)".prefix(79).description, .red) }
    }
}
