//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import MemoryCaching

/// What a reader took a trace's lines to mean, so that a person can see whether it is what he meant.
public struct TraceInterpretation: Sendable, Equatable {
    /// The format.
    public var format: TraceFormat
    /// What the key was taken to be, such as `column “url”`.
    public var key: String
    /// What the size was taken to be; `nil` where there is none.
    public var size: String?
    /// The first keys that differ, three at most.
    public internal(set) var examples: [String] = []
    /// Lines that are well-formed and no requests for a cache, such as a POST in an access log.
    public internal(set) var skipped = 0

    /// The bytes of all keys that were read as text, and how many those were.
    private var keyBytes = 0, keyCount = 0
    /// How long a key is, in bytes, on the mean; 0 where keys are numbers.
    var keyLength: Double { keyCount == 0 ? 0 : Double(keyBytes) / Double(keyCount) }

    /// How many keys are kept as examples.
    static let exampleCount = 3
    /// A longer key is cut here, so that three fit on a screen.
    private static let longestExample = 60

    /// What is known before the first line.
    init(format: TraceFormat) {
        self.format = format
        switch format {
        case .accessLog:
            key = "the path with its query"
            size = "the bytes sent"
        case .csv:
            key = "the first column"
            size = "the second column, if there is one"
        case .arc, .lirs: key = "the block’s number"
        case .binary, .oracleGeneral:
            key = "the record’s 64-bit number"
            size = "the record’s size"
        case .automatic, .jsonLines: key = "not known yet"
        }
    }

    /// Takes over the names of the columns, or of whatever stands for them.
    mutating func name(_ places: ColumnPlaces, as noun: String) {
        key = "the \(noun) “\(places.names[places.key])”"
        size = places.size.map { "the \(noun) “\(places.names[$0])”" }
    }

    /// Keeps `key` if it is one of the first that differ.
    mutating func note(_ key: ArraySlice<UInt8>) {
        keyBytes += key.count
        keyCount += 1
        guard examples.count < Self.exampleCount else { return }
        let text = TraceLines.printable(key, limit: Self.longestExample)
        if !examples.contains(text) { examples.append(text) }
    }

    /// Everything in a few lines: what was read as what, with the examples.
    public var description: String {
        var text = "read as \(format.title): the key is \(key)"
        text += size.map { ", the size is \($0)\n" } ?? ", there are no sizes\n"
        for example in examples { text += "  key: \(example)\n" }
        if skipped > 0 {
            text += "  \(skipped.grouped) lines left out: \(format.leavesOut)\n"
        }
        return text
    }
}

extension TraceInterpretation: CustomStringConvertible {}

extension TraceFormat {
    /// As a noun with its article.
    fileprivate var title: String {
        switch self {
        case .automatic: "a trace"
        case .binary: "records of 12 bytes"
        case .arc: "an ARC block trace"
        case .lirs: "a LIRS block trace"
        case .csv: "CSV"
        case .accessLog: "an access log"
        case .jsonLines: "JSON lines"
        case .oracleGeneral: "records of libCacheSim (oracleGeneral)"
        }
    }

    fileprivate var leavesOut: String {
        switch self {
        case .accessLog: "not GET or HEAD, or not answered with 2xx or 304"
        default: "no key in them"
        }
    }
}
