//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// What the demo has shown, in a few lines.
struct Verdict: Codable, Sendable {
    /// One line for each run.
    var lines: [String]
    /// What follows from them.
    var conclusion: String
    /// Our runs survived, and no byte was wrong.
    var success: Bool

    init(_ records: [RunRecord], setting: Setting) {
        let ours = records.filter(\.contender.isOurs)
        let controls = records.filter { !$0.contender.isOurs }
        success = !ours.isEmpty && ours.allSatisfy(\.keptItsPromise)
        let width = records.map(\.contender.title.count).max() ?? 0
        lines = records.map { record in
            let title = record.contender.title
            let space = String(repeating: " ", count: width - title.count)
            return "\(record.mark) \(title)\(space)  \(record.outcome)"
        }
        let killed = controls.filter { $0.fate == .killed }.count
        let held = setting.controlGroup == nil ? "under the pressure signalled" : "in \(ByteCount(setting.limitBytes))"
        if success {
            let fate =
                switch (controls.count, killed) {
                case (0, _): ""
                case (let all, killed) where all == killed:
                    " where \(all == 1 ? "the control was" : "both controls were") killed"
                case (_, 0):
                    "; the controls were not killed\(setting.controlGroup == nil ? ", for nothing limits them" : "")"
                default: "; \(killed) of \(controls.count) controls was killed"
                }
            conclusion = "Our caches survived \(held) with every byte right\(fate)."
        } else {
            conclusion = "Not as promised: our runs were to survive \(held) with every byte right, and did not."
        }
    }
}

extension RunRecord {
    /// One character that says how it went.
    var mark: String { fate == .survived && last.wrong == 0 ? "✓" : "✗" }

    /// The whole of it in one line.
    var outcome: String {
        let sample = last
        let hits = "\(sample.hitRate.percent) hits of \(sample.requests.grouped) requests"
        let trouble =
            (sample.wrong > 0 ? ", \(sample.wrong) wrong values" : "")
            + (sample.failures > 0 ? ", \(sample.failures) failed requests" : "")
        let held = "\(ByteCount(sample.cachedBytes)) cached"
        switch fate {
        case .survived:
            let right = sample.wrong == 0 ? ", no wrong byte" : ""
            return "survived \(seconds.tenths) s: \(hits), \(held)\(trouble)\(right)"
        case .killed: return "killed after \(seconds.tenths) s with \(held): \(hits)\(trouble)"
        case .stuck: return "stuck, stopped after \(seconds.tenths) s: \(hits)\(trouble)"
        case .failed(let words):
            return "\(words) after \(seconds.tenths) s: \(hits)\(trouble)"
                + (self.words.last.map { " (“\($0.prefix(120))”)" } ?? "")
        }
    }
}

extension Double {
    /// With one digit after the point.
    var tenths: String { String((self * 10).rounded() / 10) }
}
