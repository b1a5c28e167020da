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

    /// `key[,size[,cost]]`; nil where there is no request. `note` is given the key as it is written.
    static func csv(
        _ line: ArraySlice<UInt8>,
        note: (ArraySlice<UInt8>) -> Void
    ) throws(TraceError.Reason.Failure) -> TraceRequest? {
        let line = trimmed(line)
        if line.isEmpty || line.first == UInt8(ascii: "#") { return nil }
        guard let fields = fields(of: line, separator: UInt8(ascii: ",")), fields.count <= 3, !fields[0].text.isEmpty
        else { throw badLine(line) }
        note(fields[0].text)
        let sizeIsLeftOut = fields.count == 3 && fields[1].text.isEmpty
        return try request(
            key: fields[0],
            size: fields.count > 1 && !sizeIsLeftOut ? fields[1].text : nil,
            cost: fields.count > 2 ? fields[2].text : nil,
            in: line
        )
    }

    /// A line beneath a heading; nil where there is no request. A size that is left out is not known.
    static func row(
        _ line: ArraySlice<UInt8>,
        _ places: ColumnPlaces,
        separator: UInt8,
        note: (ArraySlice<UInt8>) -> Void
    ) throws(TraceError.Reason.Failure) -> TraceRequest? {
        if trimmed(line).isEmpty { return nil }
        guard let fields = fields(of: line, separator: separator), fields.count <= places.names.count,
            places.key < fields.count, !fields[places.key].text.isEmpty
        else { throw badLine(line) }
        note(fields[places.key].text)
        return try request(key: fields[places.key], places, in: line) { place in
            place >= fields.count || fields[place].text.isEmpty ? nil : fields[place].text
        }
    }

    /// A JSON object; nil where it has no key.
    static func json(
        _ line: ArraySlice<UInt8>,
        _ columns: inout ColumnPlaces?,
        wanted: TraceColumns,
        note: (ArraySlice<UInt8>) -> Void
    ) throws(TraceError.Reason.Failure) -> TraceRequest? {
        if trimmed(line).isEmpty { return nil }
        guard let fields = JSONLine.fields(of: line) else { throw badLine(line) }
        if columns == nil { columns = try ColumnPlaces(wanted, among: fields.map(\.path)) }
        guard let columns else { return nil }
        // Fields of the same name stand in the same place more often than not.
        func value(_ place: Int) -> ArraySlice<UInt8>? {
            let name = columns.names[place]
            if place < fields.count, fields[place].path == name { return fields[place].value }
            return fields.first { $0.path == name }.flatMap(\.value)
        }
        guard let key = value(columns.key), !key.isEmpty else { return nil }
        note(key)
        return try request(key: Field(text: key), columns, in: line, value)
    }

    /// A line of an access log; nil where it is no request for a cache.
    static func accessLog(
        _ line: ArraySlice<UInt8>,
        note: (ArraySlice<UInt8>) -> Void
    ) throws(TraceError.Reason.Failure) -> TraceRequest? {
        if trimmed(line).isEmpty { return nil }
        guard let entry = AccessLogLine(line) else { throw badLine(line) }
        guard entry.isCacheable else { return nil }
        let key = entry.host + entry.target
        note(key)
        return TraceRequest(key: hash(key), size: entry.size)
    }

    /// A request of a line whose values have names; `value` answers the one at a place. A size that is left out is not
    /// known.
    private static func request(
        key: Field,
        _ places: ColumnPlaces,
        in line: ArraySlice<UInt8>,
        _ value: (Int) -> ArraySlice<UInt8>?
    ) throws(TraceError.Reason.Failure) -> TraceRequest {
        func parsed<Parsed>(
            _ place: Int?,
            _ parse: (ArraySlice<UInt8>) -> Parsed?
        ) throws(TraceError.Reason.Failure) -> Parsed? {
            guard let place, let text = value(place) else { return nil }
            if let parsed = parse(text) { return parsed }
            throw .init(.badValue(printable(text, limit: 60), column: places.names[place]))
        }
        var request = TraceRequest(key: keyNumber(key))
        if places.size != nil { request.size = try parsed(places.size, size) ?? 0 }
        if let cost = try parsed(places.cost, cost) { request.cost = cost }
        if let time = try parsed(places.time, TraceTime.value) { request.time = time }
        return request
    }

    private static func request(
        key: Field,
        size sizeText: ArraySlice<UInt8>?,
        cost costText: ArraySlice<UInt8>?,
        in line: ArraySlice<UInt8>
    ) throws(TraceError.Reason.Failure) -> TraceRequest {
        var request = TraceRequest(key: keyNumber(key))
        if let sizeText {
            guard let size = size(sizeText) else { throw badLine(line) }
            request.size = size
        }
        if let costText {
            guard let cost = cost(costText) else { throw badLine(line) }
            request.cost = cost
        }
        return request
    }

    private static func keyNumber(_ key: Field) -> UInt64 {
        key.isQuoted ? hash(key.text) : number(key.text) ?? hash(key.text)
    }

    /// Sizes add up in an Int, so that none may be near its end.
    private static func size(_ text: ArraySlice<UInt8>) -> Int? {
        number(text).flatMap { $0 < 1 << 48 ? max(1, Int($0)) : nil }
    }

    private static func cost(_ text: ArraySlice<UInt8>) -> Double? {
        Double(String(decoding: text, as: UTF8.self)).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }

    /// A field of a line, without its quotes and the blanks around it.
    struct Field {
        var text: ArraySlice<UInt8>
        var isQuoted = false
    }

    /// The fields of a line of CSV (RFC 4180); nil where a quote does not end.
    static func fields(of line: ArraySlice<UInt8>, separator: UInt8) -> [Field]? {
        let quote = UInt8(ascii: "\"")
        var fields: [Field] = []
        var rest = line
        while true {
            if rest.first != quote {
                let end = rest.firstIndex(of: separator) ?? rest.endIndex
                fields.append(Field(text: trimmed(rest[..<end])))
                if end == rest.endIndex { return fields }
                rest = rest[(end + 1)...]
                continue
            }
            var text: [UInt8] = []
            rest.removeFirst()
            while true {
                guard let byte = rest.popFirst() else { return nil }
                if byte == quote {
                    guard rest.first == quote else { break }
                    rest.removeFirst()
                }
                text.append(byte)
            }
            fields.append(Field(text: text[...], isQuoted: true))
            rest = rest.drop(while: isBlank)
            if rest.isEmpty { return fields }
            guard rest.first == separator else { return nil }
            rest.removeFirst()
        }
    }

    /// A decimal number without sign, and without leading zeros unless it may have them; nil if it is none or does not
    /// fit.
    static func number(_ text: ArraySlice<UInt8>, mayHaveZeros: Bool = false) -> UInt64? {
        guard let first = text.first, mayHaveZeros || text.count == 1 || first != UInt8(ascii: "0") else { return nil }
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

    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) || last == UInt8(ascii: "\r") { text.removeLast() }
        return text
    }

    /// As it may be shown on a terminal: without control characters, and cut where it is long.
    static func printable(_ text: ArraySlice<UInt8>, limit: Int) -> String {
        let start = String(decoding: text.prefix(limit), as: UTF8.self)
        let shown = String(String.UnicodeScalarView(start.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }))
        return text.count > limit ? shown + "…" : shown
    }

    static func badLine(_ line: ArraySlice<UInt8>) -> TraceError.Reason.Failure {
        .init(.badLine(printable(line, limit: 60)))
    }
}
