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
    private var sawRequest = false
    /// Blocks of an ARC line that are still to come.
    private var blocks: Range<UInt64> = 0..<0

    /// Opens a trace.
    ///
    /// - Throws: ``TraceError`` if the file cannot be opened or unpacked.
    public init(path: String, format: TraceFormat = .automatic) throws(TraceError) {
        do throws(TraceError.Reason.Failure) {
            window = ByteWindow(try ByteSource(path: path))
            self.format = format == .automatic ? Self.format(of: try window.peek(TraceSniffing.length)) : format
        } catch {
            throw TraceError(path: path, format: format, position: nil, reason: error.reason)
        }
        self.path = path
    }

    /// How many bytes of the unpacked trace have been read.
    public var byteOffset: Int { window.offset }

    /// The next request, or nil at the end.
    ///
    /// - Throws: ``TraceError`` with file and position for a truncated record, a bad line or damaged compression.
    public func next() throws(TraceError) -> TraceRequest? {
        do throws(TraceError.Reason.Failure) {
            switch format {
            case .binary, .automatic: return try window.takeRecord(length: 12, TraceRecords.binary)
            case .oracleGeneral: return try window.takeRecord(length: 24, TraceRecords.oracleGeneral)
            case .arc: return try nextBlock()
            case .lirs: return try nextLine(TraceLines.lirs)
            case .csv:
                let mayBeHeader = !sawRequest
                return try nextLine { bytes throws(TraceError.Reason.Failure) in
                    try TraceLines.csv(bytes, mayBeHeader: mayBeHeader)
                }
            }
        } catch {
            throw TraceError(path: path, format: format, position: position(of: error.reason), reason: error.reason)
        }
    }

    private static func format(of opening: ArraySlice<UInt8>) -> TraceFormat { TraceSniffing.format(of: opening) }

    private func position(of reason: TraceError.Reason) -> TraceError.Position? {
        switch reason {
        case .badLine: .line(line + 1)
        case .truncatedRecord, .damagedCompression: .byte(window.offset)
        case .unreadable, .empty, .missingDecompressor: nil
        }
    }

    /// The request of the next line that is not to be skipped.
    private func nextLine(
        _ parse: (ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> TraceRequest?
    ) throws(TraceError.Reason.Failure) -> TraceRequest? {
        while let bytes = try window.takeLine() {
            let request = try parse(bytes)
            line += 1
            if let request {
                sawRequest = true
                return request
            }
        }
        return nil
    }

    private func nextBlock() throws(TraceError.Reason.Failure) -> TraceRequest? {
        while blocks.isEmpty {
            guard let bytes = try window.takeLine() else { return nil }
            blocks = try TraceLines.arc(bytes)
            line += 1
        }
        defer { blocks = blocks.lowerBound + 1..<blocks.upperBound }
        return TraceRequest(key: blocks.lowerBound)
    }
}
