//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import CacheSimulation
import MemoryCaching

/// A line of text in pieces of different looks, which can be cut without cutting an escape sequence.
struct Line: Sendable {
    /// Looks, as parameters of SGR (ECMA-48, 8.3.117). Only the colours that every terminal lets its user choose.
    enum Style: String {
        case plain = "0"
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case magenta = "35"
        case cyan = "1;36"
    }

    private var pieces: [(text: String, style: Style)] = []

    init(_ text: String, _ style: Style = .plain) { pieces = [(text, style)] }

    /// The same with `text` after it.
    func adding(_ text: String, _ style: Style = .plain) -> Line {
        var line = self
        line.pieces.append((text, style))
        return line
    }

    /// Its text alone. Everything that the demo prints is one column wide.
    var text: String { pieces.map(\.text).joined() }

    /// As it goes to a terminal of `columns` columns, with colours; what does not fit is cut off.
    func coloured(columns: Int) -> String {
        var room = columns
        return pieces.map { piece in
            let cut = piece.text.prefix(room)
            room -= cut.count
            return cut.isEmpty || piece.style == .plain ? String(cut) : "\u{1B}[\(piece.style.rawValue)m\(cut)\u{1B}[0m"
        }.joined()
    }
}

extension String {
    /// With spaces after it up to `width`.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// With spaces before it up to `width`.
    func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension Int {
    /// Bytes as mebibytes.
    var inMebibytes: String { "\((self >> 20).grouped) MiB" }

    /// Nanoseconds as a time with two digits or more: `850 ns`, `21 µs`, `9.8 ms`; "–" for none.
    var asTime: String {
        func twoDigits(_ value: Double) -> String { value < 9.95 ? value.tenths : String(Int(value.rounded())) }
        return switch self {
        case ..<1: "–"
        case ..<1_000: "\(self) ns"
        case ..<1_000_000: twoDigits(Double(self) / 1e3) + " µs"
        default: twoDigits(Double(self) / 1e6) + " ms"
        }
    }
}

extension Double {
    /// With one digit after the point.
    var tenths: String { Quantity.fixed(self, decimals: 1) }

    /// As a percentage with one digit after the point.
    var percent: String { Quantity.percent(self) }
}
