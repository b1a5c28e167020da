//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
/// Reads RESP3 values from bytes that come in pieces.
///
/// It trusts nothing that a server says about lengths: memory grows with the bytes that have come and with nothing
/// else. Small values take more room here than in the reply: there is a largest number of them. A value has a largest
/// size and depth; a value that is cut is continued where it stopped, so the time is proportional to the bytes, in
/// whatever pieces they come.
struct RESPParser {
    /// The most bytes that one value may take, with all that it contains.
    let largestValue: Int

    /// The longest line: a number, a simple string or an error. Servers keep errors far below.
    static var longestLine: Int { 64 << 10 }
    /// The deepest nesting. Replies to a cache have three levels.
    static var deepestNesting: Int { 8 }

    /// The most items that one value may have, in all that it contains: their places take as much memory as its bytes
    /// may, twice as much as they need while arrays grow by doubling. A greeting has some twenty.
    private let mostItems: Int

    private var buffer: [UInt8] = []
    /// What has been parsed of the buffer, and how far an end of line has been looked for beyond that.
    private var position = 0
    private var searched = 0
    /// The bytes of the present value that have been parsed, across calls, and its items.
    private var size = 0
    private var itemCount = 0
    private var open: [Aggregate] = []

    fileprivate struct Aggregate {
        let kind: Kind
        var remaining: Int
        var items: [RESPValue] = []
    }

    fileprivate enum Kind { case array, map, push, attribute }

    /// - Parameter largestValue: bytes of a reply at most; no more than half of what an `Int` holds, so that places
    ///   behind it can be reckoned with.
    init(largestValue: Int) {
        self.largestValue = min(largestValue, .max / 2)
        mostItems = max(1024, largestValue / (2 * MemoryLayout<RESPValue>.stride))
    }

    /// Adds bytes that have come.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if position > 0 {
            // Moved once for each piece that comes, and only what is left of the last one: nothing as a rule.
            let isAllRead = position == buffer.count
            if isAllRead { buffer.removeAll(keepingCapacity: true) } else { buffer.removeFirst(position) }
            searched -= position
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next value; nil if more bytes are needed.
    mutating func next() throws(RESPError) -> RESPValue? {
        while let element = try element() {
            var value = element
            // A value may be the last one of what contains it, and that of what contains that.
            while true {
                guard var parent = open.popLast() else {
                    (size, itemCount) = (0, 0)
                    return value
                }
                itemCount += 1
                guard itemCount <= mostItems else { throw .tooLarge }
                parent.items.append(value)
                parent.remaining -= 1
                if parent.remaining > 0 {
                    open.append(parent)
                    break
                }
                guard let closed = parent.value else { break }
                value = closed
            }
        }
        if size + buffer.count - position > largestValue { throw .tooLarge }
        return nil
    }

    /// The next value that contains no others; opens those that do.
    private mutating func element() throws(RESPError) -> RESPValue? {
        while let line = try line() {
            let (type, text) = (buffer[line.lowerBound], line.dropFirst())
            switch type {
            case UInt8(ascii: "+"), UInt8(ascii: "("):
                advance(past: line)
                return .bytes(Array(buffer[text]))
            case UInt8(ascii: "-"):
                advance(past: line)
                return .error(String(decoding: buffer[text], as: UTF8.self))
            case UInt8(ascii: ":"):
                let number = try integer(text)
                advance(past: line)
                return .integer(number)
            case UInt8(ascii: ","):
                guard let number = Double(String(decoding: buffer[text], as: UTF8.self)) else { throw .invalidNumber }
                advance(past: line)
                return .double(number)
            case UInt8(ascii: "#"):
                guard text.count == 1 else { throw .invalidNumber }
                advance(past: line)
                return .boolean(buffer[text.startIndex] == UInt8(ascii: "t"))
            case UInt8(ascii: "_"):
                advance(past: line)
                return .null
            case UInt8(ascii: "$"), UInt8(ascii: "!"), UInt8(ascii: "="):
                return try blob(type, line)
            case UInt8(ascii: "*"), UInt8(ascii: "~"):
                if let empty = try begin(.array, line) { return empty }
            case UInt8(ascii: "%"):
                if let empty = try begin(.map, line) { return empty }
            case UInt8(ascii: ">"):
                if let empty = try begin(.push, line) { return empty }
            case UInt8(ascii: "|"):
                _ = try begin(.attribute, line)
            default:
                throw .unknownType(type)
            }
        }
        return nil
    }

    /// A string with its length before it; nil if it has not come as a whole.
    private mutating func blob(_ type: UInt8, _ line: Range<Int>) throws(RESPError) -> RESPValue? {
        let count = try integer(line.dropFirst())
        if count == -1 {
            advance(past: line)
            return .null
        }
        guard count >= 0 else { throw .invalidNumber }
        guard count <= largestValue - size else { throw .tooLarge }
        let start = line.upperBound + 2
        let end = start + Int(count)
        guard buffer.count >= end + 2 else { return nil }
        guard buffer[end] == 13, buffer[end + 1] == 10 else { throw .unterminated }
        let bytes = Array(buffer[start..<end])
        advance(past: line.lowerBound..<end)
        switch type {
        case UInt8(ascii: "!"): return .error(String(decoding: bytes, as: UTF8.self))
        // Three letters and a colon say what kind of text it is.
        case UInt8(ascii: "="): return .bytes(Array(bytes.dropFirst(4)))
        default: return .bytes(bytes)
        }
    }

    /// Begins a value that contains others, unless it is empty or null: then it is the answer.
    private mutating func begin(_ kind: Kind, _ line: Range<Int>) throws(RESPError) -> RESPValue? {
        let count = try integer(line.dropFirst())
        guard count >= -1 else { throw .invalidNumber }
        // Each item takes three bytes at least.
        guard count <= (largestValue - size) / 3, open.count < Self.deepestNesting else { throw .tooLarge }
        advance(past: line)
        if count == -1 { return .null }
        let isInPairs = kind == .map || kind == .attribute
        let aggregate = Aggregate(kind: kind, remaining: isInPairs ? 2 * Int(count) : Int(count))
        if count == 0 { return aggregate.value }
        open.append(aggregate)
        return nil
    }

    /// The next line without its end; nil if the end has not come.
    private mutating func line() throws(RESPError) -> Range<Int>? {
        searched = buffer.withUnsafeBufferPointer { buffer in
            var place = max(searched, position)
            while place < buffer.count, buffer[place] != 13 { place += 1 }
            return place
        }
        guard searched - position <= Self.longestLine else { throw .tooLarge }
        guard searched + 1 < buffer.count else { return nil }
        guard buffer[searched + 1] == 10, searched > position else { throw .unterminated }
        return position..<searched
    }

    private mutating func advance(past range: Range<Int>) {
        let end = range.upperBound + 2
        size += end - position
        position = end
    }

    /// Decimal digits with a sign before them or none.
    private func integer(_ range: Range<Int>.SubSequence) throws(RESPError) -> Int64 {
        var digits = buffer[range]
        let sign = digits.first
        if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { digits = digits.dropFirst() }
        guard (1...19).contains(digits.count) else { throw .invalidNumber }
        // Nineteen digits fit into what has no sign.
        var magnitude: UInt64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { throw .invalidNumber }
            magnitude = 10 * magnitude + UInt64(digit - 0x30)
        }
        let isNegative = sign == UInt8(ascii: "-")
        guard magnitude <= UInt64(Int64.max) + (isNegative ? 1 : 0) else { throw .invalidNumber }
        return Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude)
    }
}

extension RESPParser.Aggregate {
    /// What it is when it has all its items; nil for an attribute, which is no value.
    fileprivate var value: RESPValue? {
        switch kind {
        case .array: .array(items)
        case .map: .map(items)
        case .push: .push(items)
        case .attribute: nil
        }
    }
}
#endif
