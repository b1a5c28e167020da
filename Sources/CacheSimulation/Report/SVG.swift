//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// An SVG drawing as text. What is drawn has classes, not colours: so a dark page has looks of its own, and whoever
/// draws gives a style sheet. Words are escaped, numbers have one decimal at most.
public enum SVG {
    /// A whole document of `elements` on a page. `style` may use the page's colours (`--page`, `--ink`, `--dim`,
    /// `--grid`) and the classes `end` and `middle` for where text is anchored.
    public static func document(
        width: Double,
        height: Double,
        title: String,
        style: String,
        _ elements: [String]
    ) -> String {
        let (width, height) = (number(width), number(height))
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" \
            height="\(height)" role="img">
            <title>\(escaped(title))</title>
            <style>
            \(pageStyle)
            \(style)
            </style>
            <rect width="\(width)" height="\(height)" rx="8" class="page"/>
            \(elements.joined(separator: "\n"))
            </svg>

            """
    }

    /// `elements`, moved down by `y`.
    public static func group(y: Double, _ elements: [String]) -> String {
        "<g transform=\"translate(0 \(number(y)))\">\n\(elements.joined(separator: "\n"))\n</g>"
    }

    /// `words` with the foot of its letters at `y`.
    public static func text(_ words: String, _ x: Double, _ y: Double, _ name: String) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" class=\"\(name)\">\(escaped(words))</text>"
    }

    /// A straight line.
    public static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ name: String) -> String {
        "<line x1=\"\(number(x1))\" y1=\"\(number(y1))\" x2=\"\(number(x2))\" y2=\"\(number(y2))\" class=\"\(name)\"/>"
    }

    /// Straight lines from point to point.
    public static func polyline(_ points: [(x: Double, y: Double)], _ name: String) -> String {
        let places = points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
        return "<polyline points=\"\(places)\" class=\"\(name)\"/>"
    }

    /// A rectangle with its corner at `x`, `y`.
    public static func rect(
        _ x: Double,
        _ y: Double,
        width: Double,
        height: Double,
        _ name: String
    ) -> String {
        "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(width))\" height=\"\(number(height))\" "
            + "class=\"\(name)\"/>"
    }

    /// A filled circle.
    public static func circle(_ x: Double, _ y: Double, radius: Double, _ name: String) -> String {
        "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"\(number(radius))\" class=\"\(name)\"/>"
    }

    /// A coordinate.
    public static func number(_ value: Double) -> String { Quantity.plain(value, decimals: 1) }

    /// Light, and dark where the reader's system is.
    private static let pageStyle = """
        svg{--page:#fff;--ink:#1f2328;--dim:#59636e;--grid:#d1d9e0}
        @media (prefers-color-scheme:dark){svg{--page:#0d1117;--ink:#f0f6fc;--dim:#9198a1;--grid:#262c36}}
        text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue","DejaVu Sans",sans-serif;fill:var(--dim)}
        .page{fill:var(--page)}.end{text-anchor:end}.middle{text-anchor:middle}
        """

    /// By scalars, for a mark that combines with "<" makes one character of both. What XML forbids is left out.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\t", "\n", " "..."\u{FFFD}", "\u{10000}"...: escaped.unicodeScalars.append(scalar)
            default: break
            }
        }
        return escaped
    }
}
