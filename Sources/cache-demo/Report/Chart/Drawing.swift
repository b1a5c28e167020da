//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation

/// An SVG document in the making: elements are added from back to front.
struct Drawing {
    private(set) var body = ""
    let width: Double
    let height: Double

    init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }

    /// The whole document, with `style` as its style sheet and `title` for readers that do not see it.
    func document(style: String, title: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.place) \(height.place)" \
        width="\(width.place)" height="\(height.place)" role="img">
        <title>\(Self.escaped(title))</title>
        <style>\(style)</style>
        \(body)</svg>

        """
    }

    mutating func rectangle(
        _ x: Double,
        _ y: Double,
        _ width: Double,
        _ height: Double,
        class name: String,
        radius: Double = 0
    ) {
        let corner = radius > 0 ? " rx=\"\(radius.place)\"" : ""
        add(
            "<rect x=\"\(x.place)\" y=\"\(y.place)\" width=\"\(max(0, width).place)\" height=\"\(height.place)\"\(corner) class=\"\(name)\"/>"
        )
    }

    mutating func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, class name: String) {
        add("<line x1=\"\(x1.place)\" y1=\"\(y1.place)\" x2=\"\(x2.place)\" y2=\"\(y2.place)\" class=\"\(name)\"/>")
    }

    mutating func text(_ text: String, _ x: Double, _ y: Double, class name: String) {
        add("<text x=\"\(x.place)\" y=\"\(y.place)\" class=\"\(name)\">\(Self.escaped(text))</text>")
    }

    /// A heading with words of explanation after it, set by the renderer so that no font leaves a gap or an overlap.
    mutating func heading(_ title: String, _ words: String, _ x: Double, _ y: Double) {
        add(
            "<text x=\"\(x.place)\" y=\"\(y.place)\" class=\"panel\">\(Self.escaped(title))"
                + "<tspan dx=\"10\" class=\"words\">\(Self.escaped(words))</tspan></text>"
        )
    }

    /// A line through `points`.
    mutating func curve(_ points: [(x: Double, y: Double)], class name: String) {
        guard points.count > 1 else { return }
        add("<path d=\"\(Self.path(points))\" class=\"\(name)\"/>")
    }

    /// The area between `points` and the horizontal at `base`.
    mutating func area(_ points: [(x: Double, y: Double)], base: Double, class name: String) {
        guard let first = points.first, let last = points.last, points.count > 1 else { return }
        add(
            "<path d=\"\(Self.path(points))L\(last.x.place) \(base.place)L\(first.x.place) \(base.place)Z\" class=\"\(name)\"/>"
        )
    }

    /// The mark of an end: a cross in a ring.
    mutating func cross(_ x: Double, _ y: Double, class name: String) {
        let arm = 3.5
        add(
            "<g class=\"end \(name)\"><circle cx=\"\(x.place)\" cy=\"\(y.place)\" r=\"8\"/>"
                + "<path d=\"M\((x - arm).place) \((y - arm).place)L\((x + arm).place) \((y + arm).place)"
                + "M\((x - arm).place) \((y + arm).place)L\((x + arm).place) \((y - arm).place)\"/></g>"
        )
    }

    private mutating func add(_ element: String) { body += element + "\n" }

    private static func path(_ points: [(x: Double, y: Double)]) -> String {
        "M" + points.map { "\($0.x.place) \($0.y.place)" }.joined(separator: "L")
    }

    static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;")
    }
}

extension Double {
    /// A coordinate, to a tenth of a pixel.
    var place: String {
        let rounded = (self * 10).rounded() / 10
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}
