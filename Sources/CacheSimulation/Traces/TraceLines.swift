//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The lines of the text formats.
enum TraceLines {
    private typealias Failure = TraceError.Reason.Failure

    /// More blocks than this in one request are a broken line: half a gigabyte of 512-byte blocks.
    private static let mostBlocks: UInt64 = 1 << 20

    /// `first-block number-of-blocks ignored request-number`; an empty range for an empty line.
    static func arc(_ line: ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> Range<UInt64> {
        let fields = line.split(whereSeparator: isBlank)
        if fields.isEmpty { return 0..<0 }
        guard fields.count == 4, let first = number(fields[0]), let count = number(fields[1]), count <= mostBlocks,
            first <= UInt64.max - mostBlocks, fields[2...].allSatisfy({ number($0) != nil })
        else { throw badLine(line) }
        return first..<first + count
    }

    /// One number, or `*`, or nothing; nil where there is no request.
    static func lirs(_ line: ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> TraceRequest? {
        let text = trimmed(line)
        if text.isEmpty || text.elementsEqual([UInt8(ascii: "*")]) { return nil }
        guard let key = number(text) else { throw badLine(line) }
        return TraceRequest(key: key)
    }

    /// `key[,size[,cost]]`; nil where there is no request.
    static func csv(_ line: ArraySlice<UInt8>, mayBeHeader: Bool) throws(TraceError.Reason.Failure) -> TraceRequest? {
        let line = trimmed(line)
        if line.isEmpty || line.first == UInt8(ascii: "#") { return nil }
        guard let (key, isQuoted, rest) = keyField(line) else { throw badLine(line) }
        if mayBeHeader, !isQuoted, String(decoding: key, as: UTF8.self).lowercased() == "key" { return nil }
        let fields = rest?.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(trimmed) ?? []
        guard fields.count <= 2, !key.isEmpty else { throw badLine(line) }
        var request = TraceRequest(key: isQuoted ? hash(key) : number(key) ?? hash(key))
        if let field = fields.first, !(field.isEmpty && fields.count == 2) {
            // Sizes add up in an Int, so that none may be near its end.
            guard let size = number(field), size < 1 << 48 else { throw badLine(line) }
            request.size = max(1, Int(size))
        }
        if fields.count == 2 {
            guard let cost = Double(String(decoding: fields[1], as: UTF8.self)), cost.isFinite, cost >= 0 else {
                throw badLine(line)
            }
            request.cost = cost
        }
        return request
    }

    /// The first field, unquoted, and what follows its comma; nil where there is none.
    private static func keyField(
        _ line: ArraySlice<UInt8>
    ) -> (key: ArraySlice<UInt8>, isQuoted: Bool, rest: ArraySlice<UInt8>?)? {
        let quote = UInt8(ascii: "\""), comma = UInt8(ascii: ",")
        guard line.first == quote else {
            let end = line.firstIndex(of: comma) ?? line.endIndex
            return (trimmed(line[..<end]), false, end == line.endIndex ? nil : line[(end + 1)...])
        }
        var key: [UInt8] = []
        var rest = line.dropFirst()
        while let byte = rest.popFirst() {
            if byte != quote {
                key.append(byte)
            } else if rest.first == quote {
                key.append(quote)
                rest.removeFirst()
            } else {
                guard rest.isEmpty || rest.first == comma else { return nil }
                return (key[...], true, rest.isEmpty ? nil : rest.dropFirst())
            }
        }
        return nil
    }

    /// A decimal number without sign and without leading zeros; nil if it is none or does not fit.
    private static func number(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard let first = text.first, text.count == 1 || first != UInt8(ascii: "0") else { return nil }
        var value: UInt64 = 0
        for byte in text {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            if tooLarge || carry { return nil }
            value = sum
        }
        return value
    }

    /// FNV-1a and a final mixing; 64 bits keep a billion keys apart but for about one pair in forty.
    private static func hash(_ text: ArraySlice<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return SeededGenerator.mix(hash)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) || last == UInt8(ascii: "\r") { text.removeLast() }
        return text
    }

    private static func badLine(_ line: ArraySlice<UInt8>) -> TraceError.Reason.Failure {
        let start = String(decoding: line.prefix(60), as: UTF8.self)
        let printable = String(
            String.UnicodeScalarView(start.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 })
        )
        return .init(.badLine(line.count > 60 ? printable + "…" : printable))
    }
}
