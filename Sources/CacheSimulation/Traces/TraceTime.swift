//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// Times as logs write them: a number in any unit, or ISO 8601.
enum TraceTime {
    /// Something that grows with time: the number itself, or seconds since 1970; nil where it is neither.
    static func value(of text: ArraySlice<UInt8>) -> Double? {
        let string = String(decoding: text, as: UTF8.self)
        if let number = Double(string) { return number.isFinite ? number : nil }
        return iso8601(string)
    }

    /// `2026-11-22T07:25:07.123+01:00`; the `T` may be a blank, and without a zone it is UTC.
    private static func iso8601(_ text: String) -> Double? {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int? {
            guard range.upperBound <= bytes.count else { return nil }
            return TraceLines.number(bytes[range], mayHaveZeros: true).map { Int($0) }
        }
        guard bytes.count >= 19, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), (1...12).contains(month),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
        else { return nil }
        var seconds = Double(days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second)
        var zone = bytes[19...]
        if zone.first == UInt8(ascii: ".") {
            let fraction = zone.prefix { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
            guard let share = Double("0" + String(decoding: fraction, as: UTF8.self)) else { return nil }
            seconds += share
            zone = zone[fraction.endIndex...]
        }
        if zone.isEmpty || zone.elementsEqual("Z".utf8) { return seconds }
        let digits = zone.dropFirst().filter { $0 != UInt8(ascii: ":") }
        guard let sign = zone.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), digits.count == 4,
            let offset = TraceLines.number(digits[...], mayHaveZeros: true)
        else { return nil }
        let east = Double(offset / 100 * 3600 + offset % 100 * 60)
        return sign == UInt8(ascii: "+") ? seconds - east : seconds + east
    }

    /// Days since 1970 in the Gregorian calendar, counted in years that begin in March, so that leap days come last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
