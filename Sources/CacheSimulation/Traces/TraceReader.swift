//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The requests of a trace file, one after the other, in constant memory.
///
/// ```swift
/// let reader = try TraceReader(path: "requests.csv.gz")
/// while let request = try reader.next() { … }
/// ```
///
/// ``Trace`` holds a whole trace in memory; a reader is for passing over one once.
public final class TraceReader {
    /// The file.
    public let path: String
    /// The format it is read as; never ``TraceFormat/automatic``.
    public let format: TraceFormat

    private var window: ByteWindow
    /// Lines taken so far.
    private var line = 0
    private let columns: TraceColumns
    /// Where the columns are, once a heading or the first JSON line has said so.
    private var places: ColumnPlaces?
    private var separator = UInt8(ascii: ",")
    /// Whether the first line of CSV is still to come.
    private var mayBeHeading = true
    /// Blocks of an ARC line that are still to come.
    private var blocks: Range<UInt64> = 0..<0

    /// What the lines read so far were taken to mean.
    public private(set) var interpretation: TraceInterpretation

    /// Opens a trace.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - format: How it is written; by default that is seen from its first bytes.
    ///   - columns: Which columns of a CSV file, or which fields of JSON lines, hold what. Columns given make
    ///     text CSV with a heading unless it is JSON lines.
    /// - Throws: ``TraceError`` if the file cannot be opened or unpacked, or is of no known format.
    public init(
        path: String,
        format: TraceFormat = .automatic,
        columns: TraceColumns = TraceColumns()
    ) throws(TraceError) {
        var known = format
        do throws(TraceError.Reason.Failure) {
            window = ByteWindow(try ByteSource(path: path))
            if format == .automatic {
                let opening = try window.peek(TraceSniffing.length)
                known =
                    columns.isGiven ? TraceSniffing.columnFormat(of: opening) : try TraceSniffing.format(of: opening)
            }
            if columns.isGiven, known != .csv, known != .jsonLines { throw .init(.noColumns) }
        } catch {
            throw TraceError(path: path, format: known, position: nil, reason: error.reason)
        }
        self.path = path
        self.format = known
        self.columns = columns
        interpretation = TraceInterpretation(format: known)
    }

    /// The next request, or nil at the end.
    ///
    /// - Throws: ``TraceError`` with file and position for a truncated record, a bad line or damaged compression.
    public func next() throws(TraceError) -> TraceRequest? {
        do throws(TraceError.Reason.Failure) {
            switch format {
            case .binary, .automatic: return noting(try window.takeRecord(length: 12, TraceRecords.binary))
            case .oracleGeneral: return noting(try window.takeRecord(length: 24, TraceRecords.oracleGeneral))
            case .arc: return try nextBlock()
            case .lirs:
                return noting(try nextLine { bytes, _ throws(TraceError.Reason.Failure) in try TraceLines.lirs(bytes) })
            case .csv: return try nextRow()
            case .accessLog: return try nextLine(TraceLines.accessLog)
            case .jsonLines:
                return try nextLine { bytes, note throws(TraceError.Reason.Failure) in
                    let isFirst = places == nil
                    let request = try TraceLines.json(bytes, &places, wanted: columns, note: note)
                    if isFirst, let places { interpretation.name(places, as: "field") }
                    return request
                }
            }
        } catch {
            throw TraceError(path: path, format: format, position: position(of: error.reason), reason: error.reason)
        }
    }

    private func position(of reason: TraceError.Reason) -> TraceError.Position? {
        switch reason {
        case .badLine, .badValue, .missingColumn: .line(line + 1)
        case .truncatedRecord, .damagedCompression: .byte(window.offset)
        case .unreadable, .empty, .missingDecompressor, .unrecognized, .noColumns: nil
        }
    }

    /// The request of the next line that is not to be skipped.
    private func nextLine(
        _ parse: (ArraySlice<UInt8>, (ArraySlice<UInt8>) -> Void) throws(TraceError.Reason.Failure) -> TraceRequest?
    ) throws(TraceError.Reason.Failure) -> TraceRequest? {
        while let bytes = try window.takeLine() {
            let request = try parse(bytes) { interpretation.note($0) }
            line += 1
            if let request { return request }
            if !bytes.isEmpty, format == .accessLog || format == .jsonLines { interpretation.skipped += 1 }
        }
        return nil
    }

    /// The request of the next line of CSV, which may stand beneath a heading.
    private func nextRow() throws(TraceError.Reason.Failure) -> TraceRequest? {
        while mayBeHeading, let bytes = try window.takeLine() {
            let text = TraceLines.trimmed(bytes)
            guard !text.isEmpty, text.first != UInt8(ascii: "#") else {
                line += 1
                continue
            }
            mayBeHeading = false
            guard try takeHeading(text) else {
                let request = try TraceLines.csv(bytes) { interpretation.note($0) }
                line += 1
                return request
            }
            line += 1
        }
        if let places {
            let separator = separator
            return try nextLine { bytes, note throws(TraceError.Reason.Failure) in
                try TraceLines.row(bytes, places, separator: separator, note: note)
            }
        }
        return try nextLine(TraceLines.csv)
    }

    /// Reads the first line as a heading, if it is one.
    private func takeHeading(_ text: ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> Bool {
        // Whichever stands in it most often.
        separator =
            [UInt8(ascii: ","), UInt8(ascii: ";"), 9].max { one, other in
                text.count { $0 == one } < text.count { $0 == other }
            } ?? separator
        let names = TraceLines.fields(of: text, separator: separator)?.map { String(decoding: $0.text, as: UTF8.self) }
        guard let names, columns.isGiven || ColumnPlaces.isHeading(names) else {
            separator = UInt8(ascii: ",")
            return false
        }
        let places = try ColumnPlaces(columns, among: names)
        self.places = places
        interpretation.name(places, as: "column")
        return true
    }

    /// The same, its key kept if it is one of the first.
    private func noting(_ request: TraceRequest?) -> TraceRequest? {
        if let request { interpretation.note(Array(String(request.key).utf8)[...]) }
        return request
    }

    private func nextBlock() throws(TraceError.Reason.Failure) -> TraceRequest? {
        while blocks.isEmpty {
            guard let bytes = try window.takeLine() else { return nil }
            blocks = try TraceLines.arc(bytes)
            line += 1
        }
        defer { blocks = blocks.lowerBound + 1..<blocks.upperBound }
        return noting(TraceRequest(key: blocks.lowerBound))
    }
}
