//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Tells what format a trace has from its first bytes.
enum TraceSniffing {
    /// How many bytes are looked at.
    static let length = 4096

    /// The format that `opening` looks like.
    static func format(of opening: ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> TraceFormat {
        // Text has no control bytes; a binary size below 16 MiB always brings a zero byte.
        let isText = opening.allSatisfy { $0 >= 32 || $0 == 9 || $0 == 10 || $0 == 13 }
        return isText ? try textFormat(of: opening) : try binaryFormat(of: opening)
    }

    private static func textFormat(of opening: ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> TraceFormat {
        var lines = opening.split(separator: UInt8(ascii: "\n"))
        // The last one may be cut off.
        if lines.count > 1 { lines.removeLast() }
        lines = lines.map(TraceLines.trimmed).filter { !$0.isEmpty && $0.first != UInt8(ascii: "#") }
        if lines.first?.first == UInt8(ascii: "{") { return .jsonLines }
        let logLines = lines.count { AccessLogLine($0) != nil }
        if logLines > 0, 2 * logLines >= lines.count { return .accessLog }
        var widths: Set<Int> = []
        for line in lines {
            let fields = line.split { $0 == UInt8(ascii: " ") || $0 == 9 || $0 == 13 }
            if fields.isEmpty || fields == [[UInt8(ascii: "*")]] { continue }
            let isNumeric = fields.allSatisfy { $0.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } }
            guard isNumeric else {
                try refuseProse(lines)
                return .csv
            }
            widths.insert(fields.count)
        }
        return widths == [4] ? .arc : widths == [1] ? .lirs : .csv
    }

    /// The format of text whose columns are named.
    static func columnFormat(of opening: ArraySlice<UInt8>) -> TraceFormat {
        let first = opening.first { $0 != UInt8(ascii: " ") && $0 != 9 && $0 != 10 && $0 != 13 }
        return first == UInt8(ascii: "{") ? .jsonLines : .csv
    }

    /// A key may be any text, also one with blanks; but lines of words are more likely a log of a format not known
    /// here, and each line would be a key of its own.
    private static func refuseProse(_ lines: [ArraySlice<UInt8>]) throws(TraceError.Reason.Failure) {
        let comma = UInt8(ascii: ","), blank = UInt8(ascii: " ")
        let wordy = lines.count { !$0.contains(comma) && $0.contains(blank) }
        guard 2 * wordy > lines.count, let first = lines.first else { return }
        throw .init(.unrecognized("its lines are like “\(TraceLines.printable(first, limit: 60))”"))
    }

    private static func binaryFormat(of opening: ArraySlice<UInt8>) throws(TraceError.Reason.Failure) -> TraceFormat {
        if looksLikeOracle(opening) { return .oracleGeneral }
        // A value of more than 2 GiB is none that a cache is asked for.
        let records = opening.withUnsafeBytes { bytes in
            (0..<bytes.count / 12).map { bytes.loadUnaligned(fromByteOffset: $0 * 12 + 8, as: UInt32.self) }
        }
        let large = records.first { UInt32(littleEndian: $0) > 1 << 31 }
        if large != nil { throw .init(.unrecognized("it is not text, and its bytes are no records of keys and sizes")) }
        return .binary
    }

    private static func looksLikeOracle(_ opening: ArraySlice<UInt8>) -> Bool {
        opening.withUnsafeBytes { bytes in
            let count = bytes.count / 24
            guard count > 0 else { return false }
            var last: UInt32 = 0
            var nexts: Set<Int64> = []
            for index in 0..<count {
                let base = index * 24
                let time = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: base, as: UInt32.self))
                let next = Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: base + 16, as: Int64.self))
                // Time never runs back, and the next access is "never" (-1) or lies ahead, within what a file can hold.
                // No two requests have the same next one.
                let isNever = next == -1 || next == .max
                let isAhead = next > Int64(index) && next < 1 << 40 && nexts.insert(next).inserted
                let isPlausible = time >= last && (isNever || isAhead)
                guard isPlausible else { return false }
                last = time
            }
            return true
        }
    }
}
