//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
import Foundation
import Synchronization

/// What the reader saw, in at most 80 columns. In a terminal it grows while the reader reads; elsewhere it is drawn
/// once at the end.
final class Drawing: Sendable {
    private struct Column {
        var answers: [Int]
        var oldest: Int
    }

    private let columns = Mutex<[Column]>([])
    private let isLive =
        isatty(1) == 1 && ["NO_COLOR", "CI"].allSatisfy { ProcessInfo.processInfo.environment[$0] == nil }

    /// Takes what the reader prints, to the end, on a thread of its own.
    func read(_ output: FileHandle) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var rest = ""
                while case let data = output.availableData, !data.isEmpty {
                    rest += String(decoding: data, as: UTF8.self)
                    while let end = rest.firstIndex(of: "\n") {
                        add(String(rest[..<end]))
                        rest.removeSubrange(...end)
                    }
                }
                continuation.resume()
            }
        }
    }

    private func add(_ line: String) {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 4 else { return }
        let columns = columns.withLock { columns in
            columns.append(Column(answers: Array(numbers[..<3]), oldest: numbers[3]))
            return columns
        }
        guard isLive else { return }
        let rows = rows(columns)
        print(rows.joined(separator: "\n") + "\u{1B}[\(rows.count - 1)A\r", terminator: "")
        fflush(nil)
    }

    /// Draws everything for the last time, and says what it means.
    func finish() {
        let columns = columns.withLock { $0 }
        print(rows(columns).joined(separator: "\n"))
        let oldest = columns.map(\.oldest).max() ?? 0
        let back = columns.indices.first { $0 >= TierDemo.restarted && columns[$0].answers[0] > 0 }
        let milliseconds = String(format: "%.1f", Double(oldest) / 1_000)
        print("\nOldest value that was read: \(milliseconds) ms after the database had the next one.")
        if let back {
            let seconds = Double(back + 1 - TierDemo.restarted) * (TierDemo.column / .seconds(1))
            print("Near values were served again within \(String(format: "%.1f", seconds)) s of the server's return.")
        }
    }

    private func rows(_ columns: [Column]) -> [String] {
        let names = ["near", "server", "database"]
        let rows = names.indices.map { index in
            let bars = columns.map { column -> Character in
                let share = Double(column.answers[index]) / Double(max(1, column.answers.reduce(0, +)))
                return share == 0 ? " " : Array("▁▂▃▄▅▆▇█")[min(7, Int(share * 8))]
            }
            return names[index].padding(toLength: 10, withPad: " ", startingAt: 0) + String(bars)
        }
        let life = (0..<TierDemo.columns).map { (TierDemo.killed..<TierDemo.restarted).contains($0) ? "×" : "─" }
        let seconds = stride(from: 0, to: TierDemo.columns, by: 10).map { column in
            "\(Int(Double(column) * (TierDemo.column / .seconds(1)))) s".padding(
                toLength: 10,
                withPad: " ",
                startingAt: 0
            )
        }
        return rows + ["server is " + life.joined(), "          " + seconds.joined()]
    }
}
