//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A table of aligned columns: the first to the left, the others to the right.
package struct TextTable {
    private var rows: [[String]]

    /// A table with these headings.
    package init(_ headings: [String]) { rows = [headings] }

    /// Adds a row.
    package mutating func append(_ row: [String]) { rows.append(row) }

    /// The rows, aligned, each with a line end.
    package var text: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        var text = ""
        for (index, row) in rows.enumerated() {
            text += line(row, widths)
            if index == 0 { text += line(widths.map { String(repeating: "─", count: $0) }, widths) }
        }
        return text
    }

    private func line(_ row: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in row.enumerated() {
            let padding = String(repeating: " ", count: widths[column] - cell.count)
            line += column == 0 ? cell + padding : "  " + padding + cell
        }
        while line.last == " " { line.removeLast() }
        return line + "\n"
    }
}
