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
                    "; \(all == 1 ? "the control was" : "both controls were") killed"
                case (_, 0):
                    "; the controls were not killed\(setting.controlGroup == nil ? " (nothing limits them)" : "")"
                default: "; one of the controls was killed"
                }
            let idle = ours.filter { !$0.memoryWasShort }.count
            if idle == 0 {
                conclusion = "Our caches survived \(held), every byte right\(fate)."
            } else {
                let which = idle == ours.count ? "Our runs prove" : "\(idle) of our \(ours.count) runs prove"
                conclusion = "\(which) nothing: memory was never short. Give more --seconds."
            }
        } else {
            conclusion = "Not as promised: not all of our runs survived \(held), every byte right."
        }
    }
}

extension RunRecord {
    /// One character that says how it went.
    var mark: String { fate == .survived && last.wrong == 0 ? memoryWasShort ? "✓" : "–" : "✗" }

    /// How it ended, hits among all requests, bytes held, and the median time of a hit: 80 columns with the name.
    var outcome: String {
        let sample = last
        let trouble =
            (sample.wrong > 0 ? ", \(sample.wrong) wrong values" : "")
            + (sample.failures > 0 ? ", \(sample.failures) failed requests" : "")
        let figures =
            "\(sample.hitRate.percent) hits, \(ByteCount(sample.cachedBytes)), hit \(sample.hitNanoseconds.asTime)\(trouble)"
        switch fate {
        case .survived:
            return "\(memoryWasShort ? "survived" : "not filled") \(seconds.tenths) s, \(figures)"
        case .killed: return "killed at \(seconds.tenths) s, \(figures)"
        case .stuck: return "stuck, stopped after \(seconds.tenths) s, \(figures)"
        case .failed(let words):
            return "\(words) after \(seconds.tenths) s, \(figures)"
                + (self.words.last.map { " (“\($0.prefix(120))”)" } ?? "")
        }
    }
}

extension Double {
    /// With one digit after the point.
    var tenths: String { String((self * 10).rounded() / 10) }
}
