//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import Foundation
import FoundationCaching
import MemoryCaching
import Testing
import _CacheTestSupport

@Suite("Strings, data and numbers in a property list that lie beyond its end")
struct PropertyListLeafTests {
    /// Takes any dictionary and looks at no value of it, so that an error comes from the look at the list.
    struct Nothing: Codable {}

    /// A leaf: its marker, with its length where that is apart, and how many bytes follow.
    struct Leaf: CustomTestStringConvertible {
        let head: [UInt8]
        let count: Int
        var testDescription: String { "\(head.map { String($0, radix: 16) }.joined(separator: " ")), \(count) bytes" }

        init(_ head: UInt8..., count: Int) { (self.head, self.count) = (head, count) }

        /// The leaf with so many of its bytes.
        func bytes(_ count: Int) -> [UInt8] { head + [UInt8](repeating: 0, count: count) }
    }

    /// A binary property list of these objects, with 2 bytes for each offset and 1 byte for each reference.
    ///
    /// - Parameter offsets: where the objects are; nil for one behind the other.
    static func list(_ objects: [[UInt8]], offsets: [Int]? = nil) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var places: [Int] = []
        for object in objects {
            places.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        let offsets = offsets ?? places
        func add(_ value: Int, _ length: Int) {
            for byte in (0..<length).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) }
        }
        for offset in offsets { add(offset, 2) }
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [offsets.count, 0, table] { add(number, 8) }
        return bytes
    }

    /// A dictionary with `leaf` for the key `a`, which comes last.
    static func dictionary(_ leaf: [UInt8]) -> [UInt8] { list([[0xD1, 1, 2], [0x51, 0x61], leaf]) }

    static func decode<Value: Codable>(_: Value.Type, _ bytes: [UInt8]) throws -> Value {
        try PropertyListCodec<Value>().decode(bytes.span.bytes)
    }

    static let leaves = [
        Leaf(0x10, count: 1), Leaf(0x11, count: 2), Leaf(0x12, count: 4), Leaf(0x13, count: 8), Leaf(0x14, count: 16),
        Leaf(0x22, count: 4), Leaf(0x23, count: 8), Leaf(0x33, count: 8), Leaf(0x80, count: 1), Leaf(0x8F, count: 16),
        Leaf(0x43, count: 3), Leaf(0x4F, 0x10, 100, count: 100), Leaf(0x4F, 0x11, 1, 0, count: 256),
        Leaf(0x53, count: 3), Leaf(0x5F, 0x10, 100, count: 100), Leaf(0x5F, 0x12, 0, 0, 1, 0, count: 256),
        Leaf(0x63, count: 6), Leaf(0x6F, 0x10, 100, count: 200), Leaf(0x6F, 0x13, 0, 0, 0, 0, 0, 0, 1, 0, count: 512),
    ]

    @Test("What ends with the list is decoded, and what ends behind it is an error", arguments: leaves)
    func ends(_ leaf: Leaf) throws {
        _ = try Self.decode(Nothing.self, Self.dictionary(leaf.bytes(leaf.count)))
        for count in 0..<leaf.count {
            #expect(throws: DecodingError.self) {
                try Self.decode(Nothing.self, Self.dictionary(leaf.bytes(count)))
            }
            // The list itself may be a leaf.
            #expect(throws: DecodingError.self) { try Self.decode(String.self, Self.list([leaf.bytes(count)])) }
        }
    }

    @Test("A UTF-16 string of which the list has half is an error", arguments: [100, 150, 199])
    func halfString(_ count: Int) throws {
        let leaf = Leaf(0x6F, 0x10, 100, count: 200)
        #expect(try Self.decode([String: String].self, Self.dictionary(leaf.bytes(200)))["a"]?.utf16.count == 100)
        // Foundation ends the process over these.
        #expect(throws: DecodingError.self) {
            try Self.decode([String: String].self, Self.dictionary(leaf.bytes(count)))
        }
        #expect(throws: DecodingError.self) { try Self.decode(String.self, Self.list([leaf.bytes(count)])) }
        // As a key.
        let key = Self.list([[0xD1, 1, 2], leaf.bytes(count), []], offsets: [8, 11, 8 + 3])
        #expect(throws: DecodingError.self) { try Self.decode([String: String].self, key) }
    }

    @Test("Markers and lengths that Foundation does not write are errors")
    func unknown() {
        let known = Set([0x00, 0x08, 0x09, 0x10, 0x11, 0x12, 0x13, 0x14, 0x22, 0x23, 0x33] as [UInt8])
        for marker in 0x00...0x9F as ClosedRange<UInt8> where !known.contains(marker) {
            if 0x40...0x6F ~= marker || 0x80...0x8F ~= marker { continue }
            #expect(throws: DecodingError.self, "marker \(marker)") {
                try Self.decode(Nothing.self, Self.dictionary([marker] + [UInt8](repeating: 0, count: 40_000)))
            }
        }
        let (most, least) = ([0x7F] + [UInt8](repeating: 0xFF, count: 7), [UInt8](repeating: 0xFF, count: 8))
        let lengths = [
            [], [0x10], [0x13, 0], [0x13] + most, [0x13] + least, [0x13, 0x40] + [UInt8](repeating: 0, count: 7),
            [0x13, 0xC0] + [UInt8](repeating: 0, count: 7), [0x14] + [UInt8](repeating: 0, count: 16),
            [0x22, 0, 0, 0, 0], [0x1F] + [UInt8](repeating: 0, count: 100),
        ]
        for length in lengths {
            for marker in [0x4F, 0x5F, 0x6F, 0xAF, 0xCF, 0xDF] as [UInt8] {
                #expect(throws: DecodingError.self, "marker \(marker), length \(length)") {
                    try Self.decode(Nothing.self, Self.dictionary([marker] + length))
                }
            }
        }
    }

    @Test("Lists that share their bytes are an error, because they are decoded as often as they are named")
    func overlapping() throws {
        let numbers = [0xAE] + [UInt8](repeating: 1, count: 14)
        func bytes(named count: Int) -> [UInt8] {
            let top = [0xAF, 0x10, UInt8(count)] + (2..<count + 2).map { UInt8($0) }
            let row = 8 + top.count + 2
            return Self.list(
                [top, [0x10, 7], numbers],
                offsets: [8, 8 + top.count] + [Int](repeating: row, count: count)
            )
        }
        #expect(try Self.decode([[Int]].self, bytes(named: 1)) == [[Int](repeating: 7, count: 14)])
        #expect(throws: DecodingError.self) { try Self.decode([[Int]].self, bytes(named: 200)) }
    }
}

@Suite("Property lists with many kinds of values, changed at random")
struct PropertyListMutationTests {
    struct Many: Codable {
        var text: String?
        var other: String
        var numbers: [Int]
        var data: Data
        var byName: [String: Double]
        var date: Date
        var unsigned: UInt64
        var small: Int8
        var float: Float
        var flag: Bool
        var inner: [Many]
        var link: URL?
    }

    /// Markers, among them those that a length follows, and lengths.
    static let telling: [UInt8] = [
        0x00, 0x08, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x14, 0x1F, 0x23, 0x33, 0x4F, 0x5E, 0x5F, 0x60, 0x6E, 0x6F, 0x7F,
        0x80, 0x8F, 0xA1, 0xAF, 0xBF, 0xC1, 0xCF, 0xD1, 0xDF, 0xFF,
    ]

    static func mutant(_ original: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes[place] = telling.randomElement(using: &random) ?? 0
            case 3: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
            case 4: bytes[Int.random(in: bytes.count - 32..<bytes.count, using: &random)] = UInt8(place & 0xFF)
            default:
                // A marker and a length that may fit.
                guard place + 2 < bytes.count else { continue }
                bytes[place] = [0x4F, 0x5F, 0x6F, 0x6F, 0x6F, 0xAF].randomElement(using: &random) ?? 0
                bytes[place + 1] = 0x10
                bytes[place + 2] = UInt8.random(in: 0...255, using: &random)
            }
        }
        return bytes
    }

    static func tryAll<Value: Codable>(_ value: Value, _ count: Int, _ random: inout SplitMix64) throws {
        let codec = PropertyListCodec<Value>()
        let original = try codec.encode(value)
        for _ in 0..<count { _ = try? codec.decode(mutant(original, &random).span.bytes) }
    }

    @Test("Any bytes are a value or an error, also where strings are UTF-16")
    func mutations() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("PropertyListMutationTests.mutations: seed \(seed)")
        var random = SplitMix64(seed: seed)
        let row = Many(
            text: "\u{1F9CA} ice, å",
            other: "plain",
            numbers: [.min, -1, 0, 1, 300, 70_000, .max],
            data: Data(repeating: 7, count: 60),
            byName: ["å": 0.5, "b": -.infinity, "c": .nan],
            date: Date(timeIntervalSinceReferenceDate: 1e9),
            unsigned: .max,
            small: -128,
            float: 0.25,
            flag: true,
            inner: [],
            link: URL(string: "http://localhost/å")
        )
        var many = row
        many.inner = [row, row]
        try Self.tryAll(many, 6_000, &random)
        try Self.tryAll(["text": String(repeating: "å\u{1F9CA}", count: 30)], 6_000, &random)
        try Self.tryAll([String(repeating: "Ω", count: 40): "b", "a": "ÿ→", "c": "plain text"], 6_000, &random)
        try Self.tryAll(["a", "\u{1F9CA}", nil, String(repeating: "é", count: 100)] as [String?], 6_000, &random)
    }
}
