//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc
import Synchronization

/// What the user sees: a row for each second of a run, and a table at the end. In a terminal it is coloured, and the
/// newest row is drawn over itself ten times a second; in files and pipes, and where NO_COLOR or CI is set, it is
/// plain.
final class Screen: Sendable {
    private let limitBytes: Int
    private let isLive: Bool
    /// The second that the last row is about, and what it notes; nil before the first.
    private let shown = Mutex<String?>(nil)

    init(limitBytes: Int) {
        self.limitBytes = limitBytes
        let environment = ProcessInfo.processInfo.environment
        func isSet(_ name: String) -> Bool { !(environment[name] ?? "").isEmpty }
        isLive = isatty(1) != 0 && !isSet("NO_COLOR") && !isSet("CI") && environment["TERM"] != "dumb"
    }

    func begin(_ introduction: [String]) {
        let title = Line("cache-demo", .cyan).adding("  the same requests through each cache in little memory")
        print([title] + introduction.map { Line("  \($0)", .dim) })
    }

    /// Called with each sample, ten times a second at most.
    func show(_ record: RunRecord) {
        shown.withLock { shown in
            let row = Row(record: record, limitBytes: limitBytes)
            let (second, last) = (Int(record.last.time), shown)
            shown = "\(second) \(row.notes)"
            if last == nil {
                let kind = record.contender.isOurs ? "  ours" : "  control"
                print([Line(""), Line(record.contender.title, .bold).adding(kind, .dim), Row.heading])
            }
            if isLive {
                let begin = last == nil ? "" : last == shown ? "\r" : "\n"
                emit(begin + row.line.coloured(columns: Self.columns) + "\u{1B}[K")
            } else if last != nil, last != shown {
                print([row.line])
            }
        }
    }

    func end(_ record: RunRecord) {
        if isLive { emit("\n") }
        shown.withLock { $0 = nil }
        guard record.fate == .killed else { return }
        let burst = record.diedOfBurst ? ", in its own burst" : ""
        print([Line("  killed by the kernel at \(record.last.time.tenths) s\(burst)", .red)])
    }

    func finish(_ verdict: Verdict) {
        print([Line("")] + verdict.lines + [Line(verdict.conclusion, verdict.success ? .green : .red)])
    }

    /// Leaves the last row as it is; from any thread, at any moment.
    static func leave() { if isatty(1) != 0 { emit("\n") } }

    private func print(_ lines: [Line]) {
        emit(lines.map { (isLive ? $0.coloured(columns: Self.columns) : $0.text) + "\n" }.joined())
    }

    /// The terminal's width now, less the last column, where some terminals wrap.
    private static var columns: Int {
        var size = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 79 }
        return Int(size.ws_col) - 1
    }
}

/// Writes to standard output. Where nobody reads it any more (`cache-demo | head`), there is nothing left to run for:
/// the program ends as it does when it is told to.
private func emit(_ text: String) {
    do { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) } catch { kill(getpid(), SIGTERM) }
}
