//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if ValkeySupport
import Testing
import _CacheTestSupport

@testable import ValkeyCaching

@Suite("The RESP3 parser")
struct ParserTests {
    static func parse(_ text: String, pieces: Int = .max, largest: Int = 1 << 20) throws -> [RESPValue] {
        try parse(Array(text.utf8), pieces: pieces, largest: largest)
    }

    static func parse(_ bytes: [UInt8], pieces: Int = .max, largest: Int = 1 << 20) throws -> [RESPValue] {
        var parser = RESPParser(largestValue: largest)
        var values: [RESPValue] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, pieces == .max ? bytes.count : start + pieces)
            bytes[start..<end].withUnsafeBytes { parser.append($0) }
            while let value = try parser.next() { values.append(value) }
            start = end
        }
        return values
    }

    static let samples: [(String, RESPValue)] = [
        ("+OK\r\n", .bytes(Array("OK".utf8))), ("-ERR no\r\n", .error("ERR no")), (":-12\r\n", .integer(-12)),
        (":9223372036854775807\r\n", .integer(.max)), (":-9223372036854775808\r\n", .integer(.min)),
        (":+05\r\n", .integer(5)),
        ("$5\r\nhe\r\no\r\n", .bytes(Array("he\r\no".utf8))), ("$0\r\n\r\n", .bytes([])), ("$-1\r\n", .null),
        ("*-1\r\n", .null), ("_\r\n", .null), ("#t\r\n", .boolean(true)), (",1.5\r\n", .double(1.5)),
        ("(123456789012345678901234567890\r\n", .bytes(Array("123456789012345678901234567890".utf8))),
        ("=7\r\ntxt:abc\r\n", .bytes(Array("abc".utf8))), ("!5\r\nERR x\r\n", .error("ERR x")),
        ("*0\r\n", .array([])), ("*2\r\n:1\r\n*1\r\n:2\r\n", .array([.integer(1), .array([.integer(2)])])),
        ("~1\r\n:1\r\n", .array([.integer(1)])), ("%1\r\n+a\r\n:1\r\n", .map([.bytes([97]), .integer(1)])),
        (">2\r\n$10\r\ninvalidate\r\n_\r\n", .push([.bytes(Array("invalidate".utf8)), .null])),
        ("|1\r\n+ttl\r\n:9\r\n:5\r\n", .integer(5)),
        ("*2\r\n|1\r\n+a\r\n*0\r\n:5\r\n:6\r\n", .array([.integer(5), .integer(6)])),
    ]

    @Test("No length is too much to reckon with, whatever size is allowed")
    func hugeLengths() throws {
        for count in [Int64.max, Int64.max / 2, Int64.max / 2 + 1] {
            var parser = RESPParser(largestValue: .max)
            Array("$\(count)\r\n".utf8).withUnsafeBytes { parser.append($0) }
            let value = try? parser.next()
            #expect(value == .some(nil) || value == nil)
        }
    }

    @Test("Values are read, in pieces of any size", arguments: [1, 2, 3, 7, .max])
    func values(_ pieces: Int) throws {
        for (text, value) in Self.samples {
            #expect(try Self.parse(text, pieces: pieces) == [value], "\(text)")
        }
        let all = Self.samples.map(\.0).joined()
        #expect(try Self.parse(all, pieces: pieces) == Self.samples.map(\.1))
    }

    @Test(
        "What is no RESP3 is an error",
        arguments: [
            "?\r\n", ":\r\n", ":x\r\n", ":99999999999999999999\r\n", ":9223372036854775808\r\n",
            ":-9223372036854775809\r\n", ":-\r\n", ":1+\r\n", "$-2\r\n", "$5\r\nabcdefg", "*-2\r\n", "+a\rb\r\n",
            "\r\n", "#tt\r\n", ",x\r\n", "$?\r\n", "*999999999999\r\n", "$999999999999\r\n", "%9999999\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        ]
    )
    func errors(_ text: String) {
        #expect(throws: RESPError.self) { try Self.parse(text) }
        #expect(throws: RESPError.self) { try Self.parse(text, pieces: 1) }
    }

    @Test("A value that grows without end is an error before it fills memory")
    func limits() {
        let endless = [
            "+" + String(repeating: "x", count: 70_000), "*5000\r\n" + String(repeating: ":1\r\n", count: 5_000),
        ]
        for text in endless {
            #expect(throws: RESPError.tooLarge) { try Self.parse(text, pieces: 100, largest: 16_384) }
        }
    }

    @Test("The smallest items fill no more memory than the largest value may")
    func smallItems() throws {
        // Three bytes each here, and 24 as values.
        let largest = 1 << 20
        #expect(throws: RESPError.tooLarge) {
            try Self.parse("*300000\r\n" + String(repeating: "_\r\n", count: 300_000), pieces: 4_096, largest: largest)
        }
        let few = largest / 48
        let read = try Self.parse("*\(few)\r\n" + String(repeating: "_\r\n", count: few), largest: largest)
        #expect(read == [.array(Array(repeating: .null, count: few))])
    }

    @Test("Mutated bytes are read or refused, and read alike in any pieces")
    func fuzz() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var generator = SplitMix64(seed: seed)
        let corpus = Self.samples.map { Array($0.0.utf8) }
        for _ in 0..<5_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) { bytes += corpus.randomElement(using: &generator)! }
            for _ in 0..<Int.random(in: 0...4, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = .random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(Array("*$:>%|~0123456789\r\n-".utf8).randomElement(using: &generator)!, at: place)
                default: bytes.removeLast(bytes.count - place)
                }
            }
            let whole = Result { try Self.parse(bytes) }
            let pieces = Int.random(in: 1...9, using: &generator)
            let cut = Result { try Self.parse(bytes, pieces: pieces) }
            switch (whole, cut) {
            case (.success(let left), .success(let right)): #expect(left == right, "\(bytes)")
            case (.failure, .failure): break
            default: Issue.record("read differently in pieces of \(pieces): \(bytes)")
            }
        }
    }
}
#endif
