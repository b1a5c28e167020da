//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CoreMetrics
import Synchronization

/// A metrics backend that is one page of text in Prometheus' format.
///
/// - SeeAlso: Prometheus, "Text-based format", version 0.0.4.
final class MetricsPage: MetricsFactory, Sendable {
    private struct Name: Hashable, Comparable {
        let label: String
        let dimensions: String
        static func < (left: Self, right: Self) -> Bool {
            (left.label, left.dimensions) < (right.label, right.dimensions)
        }
    }

    private let cells = Mutex<[Name: Cell]>([:])

    /// One metric: a sum and, where it is a distribution, how many values are in it.
    final class Cell: CounterHandler, RecorderHandler, TimerHandler, Sendable {
        enum Kind: String { case counter, gauge, summary }
        let kind: Kind
        private let state = Mutex((sum: 0.0, count: 0))

        init(_ kind: Kind) { self.kind = kind }

        var value: (sum: Double, count: Int) { state.withLock { $0 } }

        func increment(by amount: Int64) { state.withLock { $0.sum += Double(amount) } }
        func reset() { state.withLock { $0 = (0, 0) } }
        func record(_ value: Int64) { record(Double(value)) }
        func record(_ value: Double) {
            state.withLock { $0 = kind == .gauge ? (value, 1) : ($0.sum + value, $0.count + 1) }
        }
        func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    }

    private func cell(_ label: String, _ dimensions: [(String, String)], _ kind: Cell.Kind) -> Cell {
        let text = dimensions.map { "\($0.0.sanitised)=\"\($0.1.escaped)\"" }.joined(separator: ",")
        return cells.withLock { cells in
            let name = Name(label: label.sanitised, dimensions: text)
            if let cell = cells[name] { return cell }
            let cell = Cell(kind)
            cells[name] = cell
            return cell
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(label, dimensions, .counter)
    }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        cell(label, dimensions, aggregate ? .summary : .gauge)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label + "_seconds", dimensions, .summary)
    }
    // Metrics live as long as the process does.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// The page.
    func render() -> String {
        var page = ""
        var label = ""
        for (name, cell) in cells.withLock({ $0.sorted { $0.key < $1.key } }) {
            if name.label != label {
                label = name.label
                page += "# TYPE \(label) \(cell.kind.rawValue)\n"
            }
            let dimensions = name.dimensions.isEmpty ? "" : "{\(name.dimensions)}"
            let value = cell.value
            if cell.kind == .summary {
                page += "\(label)_sum\(dimensions) \(value.sum)\n\(label)_count\(dimensions) \(value.count)\n"
            } else {
                page += "\(label)\(dimensions) \(value.sum)\n"
            }
        }
        return page
    }
}

extension String {
    fileprivate var sanitised: String {
        String(map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") ? $0 : "_" })
    }
    fileprivate var escaped: String {
        var text = ""
        for character in self {
            switch character {
            case "\\", "\"": text += "\\\(character)"
            case "\n": text += "\\n"
            default: text.append(character)
            }
        }
        return text
    }
}
