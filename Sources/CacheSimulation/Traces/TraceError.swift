//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// A trace that cannot be read: which file, where in it, what is wrong and what to do.
public struct TraceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A place in a trace, after decompression.
    public enum Position: Sendable, Equatable {
        /// A line, counted from 1.
        case line(Int)
        /// A byte, counted from 0.
        case byte(Int)
    }

    /// What is wrong.
    public enum Reason: Sendable, Equatable {
        /// The file cannot be opened or read; the system's words.
        case unreadable(String)
        /// There is not a single request in it.
        case empty
        /// It ends inside a record: so many bytes are there, so many make one.
        case truncatedRecord(bytes: Int, recordLength: Int)
        /// A line that is not of the format; the line, shortened.
        case badLine(String)
        /// A value that its column cannot have; the value, shortened.
        case badValue(String, column: String)
        /// The file is of no known format; what its beginning looks like.
        case unrecognized(String)
        /// A heading, or a JSON line, lacks this column; those that it has.
        case missingColumn(String, among: [String])
        /// Columns were named, and the format has none.
        case noColumns
        /// The compressed data is damaged or cut off, or the program that unpacks it failed.
        case damagedCompression(String)
        /// The program that unpacks it cannot be started.
        case missingDecompressor(String)
    }

    /// The file.
    public var path: String
    /// The format it was read as.
    public var format: TraceFormat
    /// Where in the file; nil where the file as a whole is meant.
    public var position: Position?
    /// What is wrong.
    public var reason: Reason

    /// Everything in one line: file, position, what is wrong, what to do.
    public var description: String {
        let place =
            switch position {
            case .line(let line): "\(path):\(line)"
            case .byte(let offset): "\(path): byte \(offset)"
            case nil: path
            }
        return "\(place): \(problem); \(advice)"
    }

    /// Whether the file could be read and it is its content that is wrong.
    public var isAboutContent: Bool {
        switch reason {
        case .unreadable, .missingDecompressor: false
        default: true
        }
    }

    private var problem: String {
        switch reason {
        case .unreadable(let message): "cannot be read: \(message)"
        case .empty: "holds no requests"
        case .truncatedRecord(let bytes, let length): "ends \(bytes) bytes into a record of \(length)"
        case .badLine(let line): "not a line of the \(format.rawValue) format: “\(line)”"
        case .badValue(let value, let column): "the column “\(column)” has “\(value)” in it"
        case .unrecognized(let what): "is of no known format: \(what)"
        case .missingColumn(let name, let names):
            "there is no column “\(name)” among “\(names.prefix(20).joined(separator: ", "))”"
        case .noColumns: "read as the \(format.rawValue) format, which has no columns to choose from"
        case .damagedCompression(let program): "\(program) could not unpack all of it"
        case .missingDecompressor(let program): "\(program) is needed to unpack it and cannot be started"
        }
    }

    private var advice: String {
        switch reason {
        case .unreadable: "check the path and its permissions"
        case .empty: "check that the file is the right one and was written to the end"
        case .truncatedRecord: "the file was cut off or is of another format: name the format, or copy it again"
        case .badLine: "\(expected), so correct the line or name the file's format"
        case .badValue:
            "a size is a whole number, a cost a number, neither below 0, and a time a number or ISO 8601, so correct the "
                + "line or name another column"
        case .unrecognized:
            "expected is an access log, JSON lines, or lines of “key[,size[,cost]]”; if it is one, name the format"
        case .missingColumn: "name the column that has the key (--key-column), and others likewise"
        case .noColumns: "leave the columns out, or name the format csv or jsonl"
        case .damagedCompression: "the file is damaged or was cut off: copy it again"
        case .missingDecompressor(let program): "install \(program) or unpack the file first"
        }
    }

    private var expected: String {
        switch format {
        case .arc: "a line is “first-block blocks ignored request-number”"
        case .lirs: "a line is one block number or *"
        case .accessLog: "a line is “host ident user [time] \"request\" status bytes”"
        case .jsonLines: "a line is one JSON object"
        default: "a line is “key[,size[,cost]]” with a whole size and a cost, neither below 0"
        }
    }
}
