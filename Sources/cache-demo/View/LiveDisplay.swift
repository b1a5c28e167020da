//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import Glibc
import Synchronization

/// The view for a terminal: a block that is drawn over itself, at most ten times a second, with the runs that are over
/// above it.
final class LiveDisplay: Display {
    private struct State {
        var setting: Setting?
        var run = 0
        var runs = 0
        /// Lines of the block that the terminal shows.
        var drawn = 0
        var lastDrawing: ContinuousClock.Instant?
        var isOver = false
    }

    private let state: Mutex<State>

    init(runs: Int) { state = Mutex(State(runs: runs)) }

    func begin(_ setting: Setting) {
        state.withLock { state in
            state.setting = setting
            let title = StyledLine("cache-demo", .title)
                .adding("  the same requests through each cache in little memory", .dim)
            let lines =
                [title] + setting.introduction.map { StyledLine("  \($0)", .dim) } + [StyledLine()]
            emit("\u{1B}[?25l" + Self.text(lines), to: 1)
        }
    }

    func show(_ record: RunRecord) {
        state.withLock { state in
            guard let setting = state.setting, !state.isOver else { return }
            if record.samples.count == 1 { state.run += 1 }
            let now = ContinuousClock.now
            // A little less than a tenth of a second, so that samples of every tenth are all shown.
            if let last = state.lastDrawing, now - last < .milliseconds(95) { return }
            state.lastDrawing = now
            let frame = LiveFrame(
                record: record,
                limitBytes: setting.limitBytes,
                neighbourBytes: setting.neighbourBytes,
                seconds: setting.seconds,
                place: (state.run, state.runs),
                columns: Self.columns
            )
            let lines = frame.lines
            emit(Self.erasing(state.drawn) + Self.text(lines), to: 1)
            state.drawn = lines.count
        }
    }

    func end(_ record: RunRecord) {
        state.withLock { state in
            guard !state.isOver else { return }
            let style: StyledLine.Style = record.keptItsPromise ? .green : .red
            let line = StyledLine("\(record.mark) ", style).adding(record.contender.title, .bold)
                .padded(to: 28).adding(record.outcome)
            emit(Self.erasing(state.drawn) + Self.text([line]), to: 1)
            state.drawn = 0
            state.lastDrawing = nil
        }
    }

    func finish(_ verdict: Verdict) {
        state.withLock { _ in
            let line = StyledLine(verdict.conclusion, verdict.success ? .green : .alarm)
            emit(Self.text([StyledLine(), line]), to: 1)
        }
        restore()
    }

    func restore() {
        state.withLock { state in
            guard !state.isOver else { return }
            state.isOver = true
            // Cursor and colours as they were; what is drawn stays.
            emit("\u{1B}[0m\u{1B}[?25h", to: 1)
        }
    }

    private static func erasing(_ lines: Int) -> String { lines == 0 ? "" : "\u{1B}[\(lines)A\u{1B}[J" }

    private static func text(_ lines: [StyledLine]) -> String {
        let columns = columns
        return lines.map { $0.rendered(columns: columns) + "\n" }.joined()
    }

    /// The terminal's width now, less the last column, where some terminals wrap.
    private static var columns: Int {
        var size = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 79 }
        return Int(size.ws_col) - 1
    }
}
