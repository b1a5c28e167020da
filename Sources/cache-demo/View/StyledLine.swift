//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A line of a terminal in pieces of different looks, which can be cut to a width without cutting an escape sequence.
struct StyledLine: Equatable {
    /// Looks, as parameters of SGR (ECMA-48, 8.3.117). Only the sixteen colours that every terminal lets its user
    /// choose.
    enum Style: String {
        case plain = ""
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case magenta = "35"
        case cyan = "36"
        case alarm = "1;31"
        case title = "1;36"
    }

    private(set) var pieces: [(text: String, style: Style)] = []

    init(_ text: String = "", _ style: Style = .plain) { add(text, style) }

    mutating func add(_ text: String, _ style: Style = .plain) {
        if !text.isEmpty { pieces.append((text, style)) }
    }

    /// The same with `text` added.
    func adding(_ text: String, _ style: Style = .plain) -> StyledLine {
        var line = self
        line.add(text, style)
        return line
    }

    /// Columns that it takes. Everything that the demo prints is one column wide.
    var width: Int { pieces.reduce(0) { $0 + $1.text.count } }

    /// Fills it with spaces up to `column`.
    func padded(to column: Int) -> StyledLine { adding(String(repeating: " ", count: max(0, column - width))) }

    /// As it goes to a terminal of `columns` columns; what does not fit is cut off.
    func rendered(columns: Int) -> String {
        var room = columns
        var text = ""
        for piece in pieces where room > 0 {
            let cut = String(piece.text.prefix(room))
            room -= cut.count
            text += piece.style == .plain ? cut : "\u{1B}[\(piece.style.rawValue)m\(cut)\u{1B}[0m"
        }
        return text
    }

    static func == (left: StyledLine, right: StyledLine) -> Bool {
        left.rendered(columns: .max) == right.rendered(columns: .max)
    }
}
