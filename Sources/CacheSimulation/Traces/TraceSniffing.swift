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
    static func format(of opening: ArraySlice<UInt8>) -> TraceFormat {
        // Text has no control bytes; a binary size below 16 MiB always brings a zero byte.
        let isText = opening.allSatisfy { $0 >= 32 || $0 == 9 || $0 == 10 || $0 == 13 }
        return isText ? textFormat(of: opening) : binaryFormat(of: opening)
    }

    private static func textFormat(of opening: ArraySlice<UInt8>) -> TraceFormat {
        var lines = opening.split(separator: UInt8(ascii: "\n"))
        // The last one may be cut off.
        if lines.count > 1 { lines.removeLast() }
        var widths: Set<Int> = []
        for line in lines {
            let fields = line.split { $0 == UInt8(ascii: " ") || $0 == 9 || $0 == 13 }
            if fields.isEmpty || fields == [[UInt8(ascii: "*")]] { continue }
            let isNumeric = fields.allSatisfy { $0.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } }
            guard isNumeric else { return .csv }
            widths.insert(fields.count)
        }
        return widths == [4] ? .arc : widths == [1] ? .lirs : .csv
    }

    private static func binaryFormat(of opening: ArraySlice<UInt8>) -> TraceFormat {
        opening.withUnsafeBytes { bytes in
            let count = bytes.count / 24
            guard count > 0 else { return .binary }
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
                guard isPlausible else { return .binary }
                last = time
            }
            return .oracleGeneral
        }
    }
}
