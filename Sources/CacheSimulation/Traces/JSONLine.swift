//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// One JSON object on a line, flattened: the scalars in it by their path.
///
/// Reads what programs write (RFC 8259) and is lenient about what does not matter here: numbers are not checked beyond
/// their characters. Arrays are passed over.
struct JSONLine {
    /// A scalar: where it stands and what it says, strings without their quotes and escapes; nil for `null`.
    struct Field {
        var path: String
        var value: ArraySlice<UInt8>?
    }

    private var rest: ArraySlice<UInt8>
    private var fields: [Field] = []
    /// Objects deeper than this are no log's.
    private static let deepest = 32

    /// The fields of `line`; nil where it is no object.
    static func fields(of line: ArraySlice<UInt8>) -> [Field]? {
        var parser = JSONLine(rest: line)
        guard parser.object(path: "", depth: 0) else { return nil }
        parser.skipBlanks()
        return parser.rest.isEmpty ? parser.fields : nil
    }

    private init(rest: ArraySlice<UInt8>) { self.rest = rest }

    private mutating func object(path: String, depth: Int) -> Bool {
        guard depth < Self.deepest, take("{") else { return false }
        if take("}") { return true }
        repeat {
            skipBlanks()
            guard let name = string(), take(":") else { return false }
            let here = String(decoding: name, as: UTF8.self)
            guard value(path: path.isEmpty ? here : "\(path).\(here)", depth: depth + 1, isKept: true) else {
                return false
            }
        } while take(",")
        return take("}")
    }

    private mutating func array(depth: Int) -> Bool {
        guard depth < Self.deepest, take("[") else { return false }
        if take("]") { return true }
        repeat { guard value(path: "", depth: depth + 1, isKept: false) else { return false } } while take(",")
        return take("]")
    }

    private mutating func value(path: String, depth: Int, isKept: Bool) -> Bool {
        skipBlanks()
        switch rest.first {
        case UInt8(ascii: "{"):
            let before = fields.count
            guard object(path: path, depth: depth) else { return false }
            if !isKept { fields.removeLast(fields.count - before) }
            return true
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""):
            guard let text = string() else { return false }
            if isKept { fields.append(Field(path: path, value: text)) }
            return true
        default:
            let word = rest.prefix { byte in !" ,}]\t\r".utf8.contains(byte) }
            let isNull = word.elementsEqual("null".utf8)
            let isWord = isNull || word.elementsEqual("true".utf8) || word.elementsEqual("false".utf8)
            guard isWord || (!word.isEmpty && word.allSatisfy { "+-.eE0123456789".utf8.contains($0) }) else {
                return false
            }
            if isKept { fields.append(Field(path: path, value: isNull ? nil : word)) }
            rest = rest[word.endIndex...]
            return true
        }
    }

    /// A string with its escapes resolved; a slice of the line where it has none.
    private mutating func string() -> ArraySlice<UInt8>? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        let body = rest.dropFirst()
        guard let special = body.firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            return nil
        }
        rest = body[special...]
        if body[special] == UInt8(ascii: "\"") {
            rest.removeFirst()
            return body[..<special]
        }
        var text = Array(body[..<special])
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return text[...] }
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let escaped = escape() else { return nil }
            text.append(contentsOf: escaped)
        }
        return nil
    }

    /// What the characters after a backslash stand for.
    private mutating func escape() -> [UInt8]? {
        guard let byte = rest.popFirst() else { return nil }
        switch byte {
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "f"): return [12]
        case UInt8(ascii: "u"):
            guard var code = hex() else { return nil }
            if code & 0xFC00 == 0xD800, rest.starts(with: Array("\\u".utf8)) {
                rest.removeFirst(2)
                guard let low = hex(), low & 0xFC00 == 0xDC00 else { return nil }
                code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
            }
            return Unicode.Scalar(code).map { Array(String(Character($0)).utf8) }
        default: return [byte]
        }
    }

    private mutating func hex() -> UInt32? {
        guard rest.count >= 4 else { return nil }
        let code = UInt32(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16)
        rest.removeFirst(4)
        return code
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipBlanks() { rest = rest.drop { $0 == 32 || $0 == 9 || $0 == 13 } }
}
